import asyncio

import quandary


async def main() -> None:
    with quandary.Client() as client:
        archive, invite = await asyncio.gather(
            client.aconfirm("Archive the old wiki?", context="Nobody has opened it since May."),
            client.aconfirm("Invite the testers?", context="The beta is on the server."),
        )
    print("archive:", archive, "invite:", invite)


asyncio.run(main())
