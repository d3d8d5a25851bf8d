"""One-way doors: what cannot be taken back is known by its words, whatever the question is called.

The net is wide on purpose: a false alarm costs one more question, and a miss lets a preference
decide what nobody can undo. It has four kinds of mesh: words that say it by themselves (`delete`),
deeds that say it of certain things (`rotate` a key, not the logs), phrases (`take it offline`), and
commands of a shell. What is not known is never harmless: an order whose verb is none of those that
coding is made of (“evict the tenant”), a command line that does more than look or build, other
letters than Latin ones, and signs that are not text.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import NamedTuple

_LONGEST = 100_000
"""As much of a text as is looked at; nobody reads a longer one before saying yes to it."""
_WORD = r"(?<![\w-])--?[a-z][a-z-]*|[a-z0-9]+(?:'[a-z]+)?|[^\W\d_]+|[.,;:!?\n]"
_CAMEL = r"(?<=[a-z0-9])(?=[A-Z])"
_SIGNS = frozenset(".,;:!?\n")
_TURNING = frozenset(("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"))
_APART = 6
"""How many words may stand between a deed and what it is done to."""
_BEFORE = 4
"""The same where the thing comes first: “the key should be rotated”."""
_AROUND = 80
"""So many characters hold that many words."""

# -- words -----------------------------------------------------------------------------------------

_ALONE = """
    delete* deletion* destroy* destruction destructive erase* erasing erasure wipe* wiping purge*
    purging truncate* truncating truncation obliterate* nuke* nuking shred* annihilate* eradicate*
    expunge* scrub* scrubbing zap* zapping incinerate* vaporise* vaporize* demolish* trash*
    dispose* irreversible irreversibly irrevocable irrevocably permanent permanently unrecoverable
    forever overwrite* overwriting overwrote overwritten clobber* discard* unlink* rmdir mkfs
    wipefs dropdb truncatedb deltree rmtree drop* dropped dropping uninstall* deinstall* unenroll*
    reformat* repartition* reinitiali* reimage* reflash* anonymise* anonymize* anonymising
    anonymizing publish* unpublish* republish* yank* ship* shipped shipping release* releasing
    deploy* redeploy* rollout* announce* announcing announcement* tweet* retweet* broadcast*
    disclose* disclosing unsubscribe* unfollow* unfriend* whistleblow* decommission* deprovision*
    deactivate* deactivating suspend* terminate* terminating termination shutdown shutdowns
    poweroff sunset* sunsetting rollback* failover* cutover* reboot* buy* bought purchase*
    purchasing pay pays paid paying prepay* repay* refund* reimburse* reimbursing donate* donating
    donation* sell sells selling sold bribe* liquidate* foreclose* payroll payout* mainnet mint
    minting revoke* revoking revocation ban bans banned banning blacklist* evict* eviction* expel*
    hire hires hiring resign resigns resigning sudo sudoer sudoers visudo setenforce flushall
    flushdb dropdatabase userdel groupdel deluser lvremove vgremove production prod prd detonate*
    administer* dispatch* notarise* notarize* automerge loschen losche loscht geloscht vernichten
    uberschreiben veroffentlichen bezahlen uberweisen kundigen supprimer supprime supprimez
    effacer detruire publier payer resilier borrar borra eliminar elimina destruir publicar pagar
    cancellare eliminare distruggere pubblicare pagare apagar excluir verwijderen verwijder
    vernietigen publiceren betalen
"""
"""Words that say it by themselves; a star stands for the usual endings."""

_PHRASES = r"""
    (?:delete|destroy|purge|truncate|overwrite)\w*
    force (?:-|with )?push\w*
    force (?:it|them|this|the \S+) through
    push\w* (?:\S+ ){0,4}(?:by|with) force
    (?:hard|factory) reset\w*
    (?:can ?not|can't|never) (?:be )?(?:undone|undo|reversed|restored|recovered|revert\w*)
    (?:no|without) (?:a )?(?:way back|undo|backup|return|approval|review|confirmation)s?
    point of no return
    (?:for good|for ever|once and for all|on (?:my|our|their|his|her) behalf|on behalf of)
    get(?:ting)? rid of
    start\w* (?:over|afresh|anew) (?:\S+ ){0,2}(?:empty|blank|clean|fresh|new)
    (?:throw|threw|blow|blew|giv|sign)\w* (?:\S+ ){0,4}away
    (?:lose|losing|lost) (?:\S+ ){0,3}(?:data|work|change|write|commit|history|record|file)s?
    go(?:es|ing)? live
    (?:went|gone) live
    (?:tak|bring|brought|took|pull|tear|torn|tor|shut|clos|wind|power)\w* (?:\S+ ){0,5}down
    (?:tak|bring|took|put|go)\w* (?:\S+ ){0,5}offline
    (?:turn|switch|power)\w* (?:\S+ ){0,4}(?:off|on) (?:\S+ ){0,6}(?:cluster|server|service|host|\
        site|system|machine|database|everyone|everybody|allusers|tenant|customer|protection|backup|recovery)s?
    pull\w* the plug
    flip\w* the switch
    roll\w* (?:it |them |this |that |the \S+ (?:\S+ )?)?(?:back|out)
    (?:back|onto|over) (?:on ?to )?the (?:current|existing|old|original|live|present) \S+
    (?:mak|made|turn|set|giv)\w* (?:(?!function|method|class|field|attribute|property|constructor|\
        member|module|interface|type|helper|constant)\S+ ){0,5}public(?:ly)?
    publicly
    world (?:readable|writable|writeable|wide)
    open sourc(?:e|ing) (?:it|this|the|our)
    (?:anyone|anybody|everyone|everybody) (?:who has|with) the link
    (?:straight|directly|right) to (?:main|master|users?|customers?|clients?)
    (?:merg|push|land|commit|rebas|squash)\w* (?:\S+ ){0,6}(?:main|master|trunk|upstream|remote|\
        shared|released|published)
    (?:main|master|trunk|remote|shared) (?:\S+ ){0,4}(?:merg|push|rebas|squash|overwrit)\w*
    auto merg\w*
    (?:amend|rewrit|rebas|squash)\w* (?:\S+ ){0,4}(?:published|pushed|shared|history|released)
    cut(?:ting)? (?:\S+ ){0,4}release
    tag(?:ging)? v?\d+
    let\w* (?:\S+ ){1,5}(?:lapse|expire|know)
    (?:lower|reduc|shorten|set|chang|cut)\w* (?:\S+ ){0,3}retention
    (?:sourc|remot|their|our)\w* (?:side )?wins?
    reply all
    log\w* (?:everyone|everybody|allusers|all|them) (?:\S+ )?out
    commit\w* to (?:\S+ ){0,3}(?:date|deadline|price|client|customer)
    (?:visible|available|accessible|open) to (?:everyone|everybody|anyone|all|the public|allusers)
    without (?:authentication|authorisation|authorization|auth|login|password|encryption|consent)
    (?:merg|push|land|deploy|start|continu)\w* (?:\S+ ){0,3}\
        (?:without|ignoring|despite|before) (?:\S+ ){0,4}\
        (?:ci|checks|approval|review|tests|backup|sign)
    let\w* go of
    lay(?:ing|s)? off
    (?:squash|force|rebase) (?:and )?merg\w*
    (?:scal|shrink|drain)\w* (?:\S+ ){0,3}to zero
    let\w* (?:anyone|anybody|everyone|everybody|people|users|customers)
    (?:throw|threw|toss|chuck)\w* (?:\S+ ){0,3}out
    start\w* charging
    chmod 0*\d*00
    init [06]
    passwd \S+
    (?:route|ip route|ip link|ip addr) (?:\S+ ){0,3}(?:del|delete|down|flush)
    hand\w* (?:\S+ ){0,4}over
    (?:in|into) plain ?text
    (?:write|writing|wrote) off
    (?:clos|lock|freez)\w* (?:\S+ ){0,2}(?:books|thread|price)
    lock\w* in (?:\S+ ){0,2}(?:price|rate|order|deal)
    top\w* up
    sign\w* off on
    wir(?:e|es|ed|ing) (?:\S+ )?(?:money|\d+)
    print\w* (?:\d+ ){1,3}cop(?:y|ies)
    0 0 0 0
"""
"""Several words that say it together."""

_SHELL = r"""
    rm (?:-\S+ ){0,4}\S+
    --(?:force|hard|delete|purge|prune|no-verify|yes|auto-approve|prod|production|remove|\
        overwrite|no-preserve-root|admin|volumes|replicas 0)\S*
    -delete
    -exec rm
    (?:git )?push (?:\S+ ){0,4}(?:-f|-d|--tags|--all|--mirror)
    push origin :
    git push origin : \S+
    git (?:branch|tag) -d
    git (?:clean|gc|reflog|restore|rebase|filter|update ref|replace|prune)
    git stash (?:drop|clear)
    git (?:remote|worktree|submodule) (?:rm|remove|set|deinit)
    git commit (?:\S+ ){0,3}--amend
    checkout (?:-- |-f|\. ?$)
    filter (?:branch|repo)
    reset\w* (?:\S+ ){0,3}--hard
    gh (?:repo|release|pr|secret|run|issue|workflow) (?:delete|create|merge|archive|rename|set|\
        edit|close|run|transfer|upload|approve)
    (?:chmod|chown|chgrp|setfacl) (?:\S+ ){0,8}(?:-r|--recursive|777|666|o w|a w|a rwx)
    dd (?:if|of|bs|count)
    dev (?:sd\w*|nvme\w*|null|zero|disk\d*|hd\w*|mapper|vd\w*)
    (?:mkfs|fdisk|parted|gdisk|sfdisk|blkdiscard|cryptsetup|hdparm|flashrom|fastboot|zpool|zfs|\
        swapoff)
    (?:mkfs|format) (?:ext\d|xfs|btrfs|ntfs|fat\d*|vfat|exfat)
    (?:kill|pkill|killall|halt)(?: -\S+)* \S+
    crontab -r
    (?:iptables|ip6tables|nft|ufw|firewall cmd) (?:-\S|\w+)
    (?:systemctl|service|launchctl|supervisorctl) (?:\S+ ){0,2}(?:stop|disable|mask|restart|kill|\
        unload)
    (?:curl|wget) (?:\S+ ){0,8}(?:sudo|bash|sh|-x (?:delete|post|put|patch))
    (?:echo|cat|printf) (?:\S+ ){0,8}etc (?:passwd|shadow|hosts|sudoers|fstab)
    mv (?:\S+ ){0,8}dev null
    update \S+ set \S+
    (?:alter|rename) (?:table|database|schema|column|role|user)
    grant \S+ (?:\S+ ){0,5}to
    replicas 0
    (?:pg|db) (?:drop|reset|wipe|purge|rollback|migrate|flush|restore|push|remove)\S*
    db (?:\S+ )?(?:remove|drop|delete\w*|update\w*)
"""
"""Commands that change what others rely on, or what nobody has a copy of."""

_TOOLS = """
    hg svn
    terraform tofu terragrunt pulumi cdk cloudformation serverless sls sam eb heroku fly flyctl
    vercel netlify firebase wrangler railway render kubectl oc k9s kustomize argocd flux helm
    helmfile docker podman compose nerdctl aws gcloud gsutil bq az doctl linode hcloud ansible
    salt chef puppet nomad consul vault etcdctl psql mysql mysqladmin mariadb mongo mongosh redis
    rabbitmqctl kafka cqlsh influx rails rake alembic manage django flask artisan prisma flyway
    liquibase knex sequelize npm yarn pnpm bun cargo gem twine poetry uv hatch flit nuget dotnet
    mvn gradle pod dart hex luarocks vsce snapcraft brew apt yum dnf pacman rclone rsync restic
    borg velero gpg openssl certbot s3 stripe
"""
_MUTATING = """
    apply destroy up down delete del rm rb remove drain cordon scale replace patch rollout
    uninstall upgrade rollback undo push prune deploy publish unpublish deprecate yank terminate
    stop kill reset flush drop downgrade migrate migration purge import taint restore force sync
    mirror release promote upload submit revoke renew rotate owner disable restart wipe clean
    forget destroyed seed setup transfer update-stack delete-stack payouts refunds charges
"""
"""Programs that run machines and stores, and what they are told to change them."""
_CLOUDS = "aws gcloud gsutil az doctl hcloud linode kubectl oc heroku vault consul etcdctl hg svn"
_RULES = "change create put attach detach modify deallocate update grant add set edit exec strip"
"""What those of them are told that others rely on."""

_LOOKS = """
    ls cat head tail less more grep rg find fd wc sort uniq cut awk sed jq diff tree pwd cd echo
    which man stat file du df ps top env date make cmake ninja pytest tox nox python python3 node
    deno ruff black isort mypy pyright flake8 pylint eslint prettier tsc vitest jest mocha go
    rustc cargo gradle mvn dotnet npm npx pnpm yarn bun pip pipx uv poetry hatch git gh docker
    kubectl helm terraform aws quandary curl wget tar unzip touch mkdir cp ln open code vim nano
    time test src tests docs app lib file
"""
"""Programs that look, build or test, or that are judged by what they are told to do."""
_LINE = r"\s*([a-z][a-z0-9._-]*)\s+(?:\S+\s+){0,6}?(?:-{1,2}[A-Za-z]|\S*[/=:@*]\S|\d+\s*$)"
"""What looks like a line for a shell: a small word, and flags, paths or values behind it."""

_RAW = (
    r"\bcheckout\s+(?:--|\.|-f)|\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b|>\s*/(?:etc|dev|proc|sys|boot|usr)"
    r"|\bpush\s+\S+\s+[:+]\S"
)
"""What signs of a shell do."""

# -- deeds and things ------------------------------------------------------------------------------

_SECRETS = """secret key signingkey privatekey sshkey masterkey encryptionkey accesskey rootkey
    token password passphrase credential certificate cert pat apikey login cookie session
    permission access passcode pin keypair mfa 2fa otp"""
_HOLDINGS = """database db schema table column index collection keyspace partition bucket volume
    disk drive snapshot backup record row data dataset cluster server instance node vm machine
    host laptop phone tablet environment env namespace stack branch tag repo repository history
    commit stash worktree user allusers account customer tenant member collaborator org
    organization organisation team workspace file folder directory dir everything all queue topic
    stream log production live migration state dns domain zone infrastructure infra deployment
    pod container image release package version mailbox inbox message email contact invoice order
    object archive event trail conversation original source document evidence site website
    service api endpoint app application job process query queries subscription subscriber plan
    slot replica lock key trash bin photo video ticket channel post page profile work change
    device system fleet store warehouse lake model checkpoint registry artifact artefact bill
    list booking registration"""
_PRODUCTION = "production prod live prd"
_MACHINES = """server host cluster node database db replica primary secondary region instance vm
    machine device fleet environment load balancer traffic dns domain network router switch
    volume disk firewall rule cdn tenant allusers system everyone everybody queue broker gateway
    proxy service storage bucket postgres mysql mongo redis kafka kubernetes firmware bios rack
    slot site website infrastructure terraform manifest manifests plan"""
_PEOPLE = """legal hr finance accounting customer client subscriber everyone everybody anyone
    anybody allusers press mailinglist newsletter public team channel vendor supplier partner
    lawyer attorney regulator bank landlord candidate applicant investor shareholder board
    contact recipient thirdparty staff employee student patient member colleague boss manager
    reporter journalist court police government authority authorities slack twitter linkedin
    facebook reddit mastodon discord instagram youtube tiktok whatsapp telegram socialmedia forum
    blog hackernews list oncall people person world internet external outside company companies
    contractor user community audience family doctor school phone"""
_PAPERS = """email mail invoice contract nda letter newsletter reminder announcement application
    complaint notification sms attachment quote offer proposal patent claim statement
    pressrelease notice receipt survey payment paper tax return form report app build package
    order bid tender resignation verdict vote ballot manuscript grant thesis visa"""
_MONEY = """payment money fund dollar euro usd eur gbp chf btc bitcoin eth crypto coin payout
    payroll amount budget salary salaries wage bonus invoice refund loan credit debt cash deposit
    withdrawal price fee fine rent donation share shares stock bond asset wallet transaction
    cheque check"""
_DEALS = """contract agreement lease terms offer licence license nda application applicant
    candidate order booking purchase deployment withdrawal transaction claim patent invoice
    refund vendor price policy deal tender settlement result results subscription account
    membership meeting flight reservation appointment event request invitation bid loan mortgage
    insurance plan trial date expense release pr pullrequest merge deploy vote resignation
    proposal treaty will"""
_PROTECTION = """backup mfa 2fa twofactor auth authentication authorization authorisation
    firewall encryption protection auditlog audit tls ssl https verification certificate cert
    security review approval antivirus selinux apparmor sandbox recovery retention lock safety
    guard guardrail ratelimit signing spam pager checkout gateway captcha csrf cors waf
    monitoring alarm alert interlock softdelete deletion signature permission policy policies
    quota password login"""
_SENSITIVE = """secret password credential passphrase apikey privatekey sshkey envfile ssn
    customer customerlist pii userdata personaldata token medical passport"""


class Deed(NamedTuple):
    """Something that is done, and the things that it must not be done to unasked."""

    verbs: str
    """A star stands for the endings of a verb. With `^` it counts only where a clause begins, since
    elsewhere it is a noun: “email the team”, and not “the email field”."""
    things: str
    near: bool = False
    """Whether it is harmless where it is said to happen on a machine for development."""


_DEEDS = (
    Deed(
        """rotate* rotating rotation reset* resetting regenerate* regenerating expire*
        expiring invalidate* invalidating reissue* reissuing""",
        _SECRETS,
    ),
    Deed(
        "change* changing replace* replacing roll* rolling renew*",
        """password passphrase credential secret certificate cert apikey privatekey sshkey masterkey
        signingkey encryptionkey accesskey rootkey""",
    ),
    Deed(
        """remove* removing removal clear* empty* emptied emptying kill* killing shut shutdown
        tear teardown cleanup clean* flush* evict* reset* resetting recreate* recreating scrap*
        prune* pruning rewrite* rewriting retire* retiring stop* stopping halt* trim* detach*
        unmount* strip stripped stripping deduplicate* deduplicating dedupe* compact* vacuum*
        redact* forget forgetting lose kick* abort* abandon* sweep reclaim* expire* disconnect*
        burn* flash* archive* archiving unregister* deregister* cancel* cancelled cancelling
        void* withdraw* deprecate* deprecating dissolve* dismantle* dismiss*""",
        _HOLDINGS,
    ),
    Deed("format* formatting", "disk drive partition volume filesystem sdcard usb card stick it"),
    Deed(
        """restore* restoring downgrade* downgrading revert* reverting rewind* recover*
        recovering failover replay* requeue* rerun* re reprocess* backfill*""",
        f"""{_PRODUCTION} backup snapshot database db schema base revision dump volume over
        onto customer payment order event queue release deployment migration row table""",
    ),
    Deed(
        """replace* replacing merge* merging import* load* sync* convert* reencode* encode*
        migrate* migrating move* moving""",
        f"""{_PRODUCTION} table database db record row customer account contact allusers user
        tenant original originals over existing bucket data server host everything system""",
        near=True,
    ),
    Deed(
        """upgrade* upgrading convert* edit* rewrite* migrate* modify* change* update*
        updating install*""",
        f"{_PRODUCTION} place machine machines device devices dns firewall rule fleet everywhere",
        near=True,
    ),
    Deed(
        """push* promote* promoting promotion merge* merging migrate* migrating migration
        apply applied applying run running execute* executing restart* modify* modifying alter*
        change* changing update* updating upgrade* upgrading switch* cut write writing restore*
        restoring roll rolled rolling launch* connect* edit* patch* scale* scaling swap*
        swapping seed* import* load* copy* sync* test* experiment* enable* enabling disable*
        disabling point* start* open* kick trigger* activate*""",
        "live",
    ),
    Deed(
        """apply applied applying restart* resize* resizing scale* scaling drain* promote*
        promoting switch* swap* swapping point* pointing upgrade* migrate* migrating cut fail
        failing failed bounce* cycle* power* reconfigure* rename* move* flash* patch*""",
        _MACHINES,
        near=True,
    ),
    Deed(
        "run running rerun apply applying execute* executing start* starting trigger* kick launch*",
        """migration migrations backfill playbook pipeline deploy deployment payment payments
        payroll campaign manifest manifests terraform reactor engine motor furnace pump turbine
        cron""",
        near=True,
    ),
    Deed(
        """enable* enabling turn turned turning activate* activating switch* open* opening
        start* starting launch* expose* exposing unlock* flip* roll* push*""",
        """everyone everybody allusers customer tenant tenants public internet world
        registration registrations signup signups payment payments billing autopay port door
        gate valve safe vault reactor campaign dashboard phones phone devices merge""",
    ),
    Deed(
        "give giving gave put putting offer* increase* increasing remove* raise* lift* add* adding",
        """raise discount bonus spending cap journalist press lawyer board customer competitor
        kaggle internet maintenance sale market auction employee kids""",
    ),
    Deed(
        "open* opening start* cut put connect*",
        "network power floodgate dam supply bucket database",
    ),
    Deed(
        """change* changing update* updating move* migrate* migrating rebuild* reindex* convert*
        switch*""",
        """nameserver firmware registrar mailbox mailboxes raid array primary price prices
        terms euros dollars currency beneficiary iban address billing""",
        near=True,
    ),
    Deed(
        "^comment* respond* ^reply* report* ^leave vote voting ^cc ^bcc testify* complain*",
        """public subpoena review police authorities voicemail proposal board court customer
        regulator yes no press issue thread""",
    ),
    Deed("close* closing lock*", "issue issues ticket tickets prs discussion discussions store"),
    Deed("launch*", "missile rocket product campaign site app store beta attack drone satellite"),
    Deed(
        """block* blocking ban* freeze* freezing lock* locking close* closing suspend* limit*
        throttle* fire* firing kick* reject* rejecting decline* declining punish* sue sues
        suing""",
        """user customer traffic country countries ip account accounts card member employee
        contractor applicant candidate offer vendor supplier partner client subscriber thread
        contract everyone store office ticket""",
    ),
    Deed(
        """send* sent ^mail* ^email* ^message* ^text* notify* notified notifying tell telling
        told ^post* ^share* sharing forward* ^reply* respond* ^fax* ^call* ^invite* inviting
        ^dm ^contact* inform* warn* alert* remind* submit* promise* promising commit*
        committing deliver* escalate* export* leak* ^ping* hand upload*""",
        _PEOPLE,
    ),
    Deed(
        """send* sent submit* ^mail* ^fax* ^file* filing deliver* lodge* resend* serve*
        distribute* distributing ^email*""",
        _PAPERS,
    ),
    Deed(
        """make making made send* sent submit* process* approve* release* authorize*
        authorise* wire wiring transfer* spend* spent increase* increasing raise* raising
        lower* issue* issuing deposit* withdraw* invest* settle* settling move* give lend*
        borrow* sign* void* write double* cut""",
        _MONEY,
    ),
    Deed("^charge* charging debit* ^bill* billed billing invoice*", "card customer client account"),
    Deed(
        "^order* ordering reorder* ^book* booking reserve* reserving rent* renting place placing",
        """laptop server hardware part parts supply supplies copies unit units food pizza
        flight hotel room table ticket meeting appointment venue car trip seat order bet bid
        ten twenty dozen new more another""",
    ),
    Deed(
        "renew* renewing subscribe* upgrade* start extend*",
        "subscription plan licence license lease",
    ),
    Deed("bid* bidding", "auction item lot contract on"),
    Deed(
        "upload* submit* push* distribute*",
        """pypi npm crates registry appstore playstore maven marketplace dockerhub store index
        rubygems image tag tags notification release firmware config package wheel sdist
        testflight""",
    ),
    Deed("transfer* transferring give gave hand move*", "ownership domain repo repository owner"),
    Deed("rename* renaming", "organization organisation org repo repository domain account bucket"),
    Deed(
        """cancel* cancelled cancelling close* closing end ended sign* signing accept*
        accepting agree* agreeing approve* approving authorize* authorise* authorising
        authorizing confirm* confirming decline* declining reject* rejecting withdraw*
        finalise* finalize* finalising award* extend* submit* break breach* renegotiate*""",
        _DEALS,
    ),
    Deed("change* changing switch* relicense*", "licence license ownership governance pricing"),
    Deed(
        """grant* give giving gave given add* adding assign* make making allow* allowing
        permit* elevate* promote* set""",
        """admin administrator root owner superuser sudo sudoer sudoers access permission
        permissions rights privilege privileges ownership everyone anyone public anonymous
        maintainer collaborator editor""",
    ),
    Deed(
        "allow* allowing accept* open* enable*",
        "inbound traffic root anonymous remote external all",
    ),
    Deed("invite* inviting add* adding", "external guest guests outsiders outside partner"),
    Deed(
        """disable* disabling turn* switch* bypass* skip* skipping weaken* remove* removing
        suspend* ignore* ignoring lower* relax* loosen* deactivate* circumvent* override*
        overriding unlock* pause* silence* mute*""",
        _PROTECTION,
    ),
    Deed(
        """commit* committing print* printing store* storing upload* share* sharing paste* put
        include* send* email* push* log logging expose* exposing export* check reveal* dump*
        post*""",
        _SENSITIVE,
    ),
    Deed("upload* share* post* commit* push* send*", "env dotenv key keys"),
    Deed("open* opening unlock* close* closing", "valve door gate lock safe vault hatch port"),
    Deed("^unlock*", "front door house car bootloader account"),
)

_SMALL = """
    annotation annotations argument arguments bit border button cache caches class classes comma
    commas comment comments console constant css decorator docstring docstrings file's filter
    filters fixture fixtures flag function functions helper icon import import's imports
    indentation line lines logger margin method methods mock mocks padding parameter parameters
    paragraph prefix semicolon sentence snippet space spaces string stub stubs suffix temp
    temporary test tests tmp typo unused variable variables warning warnings whitespace word words
    wrapper
"""
"""What can be removed, cleared or cleaned without a thought, where it comes sooner."""

_LABELS = """
    binding bindings board budget class classes count counts docs documentation example examples
    field fields form format formats forms function handler handlers helper icon icons interface
    label labels length limit limits method mock mocks module name names names? order page pages
    parameter parser press schema shortcut shortcuts size style test tests timeout type types
    value values variable wrapper
"""
"""After a secret's or a holding's name: then it is only a word for something small."""

_NEARBY = """
    dev development local locally localhost test testing tests staging sandbox demo mock sample
    example preview fixture fixtures ci docker-compose emulator simulator playground
"""
"""Where nobody else is hurt."""

_JOINED = (
    r"(?:app|play) store|(?:all|every|each|real|our|existing) (?:of )?(?:the |our )?users?|\
        mailing list"
    r"|social media|two factor|audit (?:log|trail)|sd card|docker hub|press release|\
        third part(?:y|ies)"
    r"|hacker news|on call|pull request|rate limits?|soft deletes?|customer list|user data|py pi"
    r"|personal data"
    r"|(?:private|api|ssh|signing|master|encryption|access|root) keys?|env file|x com"
)
"""Things whose name is more than one word."""

_BEGINS = """
    and then to i we you they please yes just also now ok okay shall or but go let's lets will can
    could must would should ll i'll we'll it's it no later first
"""
"""Behind these a verb stands, rather than the noun that is spelt like it."""

_KNOWN = """
    accept add adjust align allow annotate append apply approve arrange ask assert assign avoid
    base begin benchmark bind box break bring build bump bundle cache calculate call capitalise
    capitalize capture catch center centre chain change check choose clarify clean clear clone
    close code collapse collect color colour combine comment commit compare compile complete
    compress compute configure confirm connect consider consolidate continue convert copy count
    cover create customise customize cut deal debug declare decide decode decorate default defer
    define delay derive describe design detail detect determine disable discuss display divide do
    document double download draft draw duplicate edit embed emit enable encapsulate encode end
    enforce enlarge ensure enter enumerate escape estimate evaluate examine exclude execute exit
    expand expect explain explore export expose express extend extract fall fetch fill filter find
    finish fit fix flag flatten fold follow format forward generate get give go group guard guess
    guide handle have help hide highlight hold ignore implement import improve include increase
    indent index infer inherit initialise initialize inject inline insert inspect install
    instrument integrate introduce invert investigate isolate iterate join justify keep know label
    launch lay lead learn leave let lift limit link lint list listen load localise localize lock
    log look loop lower make manage map mark match mean measure memoise memoize mention merge
    migrate minify minimise minimize mock model modify move name narrow need nest normalise
    normalize note number offer omit open optimise optimize order organise organize outline output
    override pad paginate parallelise parallelize parametrise parametrize parse pass paste pause
    persist pick pin place plan plot point polish populate port prefer prefix prepare prepend
    preserve preview print prioritise prioritize process produce profile propose prototype prove
    provide pull push put query quote raise randomise randomize read rearrange rebase rebuild
    recheck recommend record redesign redo reduce refactor reference refine reflect refresh
    regenerate register regroup reindent reload rely remove rename render reorder reorganise
    reorganize repeat rephrase replace report reproduce request require rerun research reset
    resize resolve restart restore restructure retry return reuse reverse revert review revise
    revisit reword rewrite rotate round run sanitise sanitize save say scaffold scale scan
    schedule search see select separate serialise serialize serve set shorten show shrink shuffle
    simplify simulate sketch skip slice solve sort specify speed spell split squash stack stage
    standardise standardize start stash state stay step stick stop store stream strip structure
    stub style subclass substitute suggest summarise summarize supply support swap switch sync tag
    take target template test think throw tidy tighten time toggle touch trace track train
    transform translate traverse treat trim trust try tune turn tweak type underline understand
    undo unify unroll unwrap update upgrade use validate vary vendor verify version view visualise
    visualize wait walk want watch widen work wrap write zip which what when where why how who
    whose whether should shall would could can may might must will is are was were does did has
    had if as at in on for from by with of about into between per via than like same yes no not
    none neither either both only just also then and or but so the a an all any some each every
    this that these those there here it its i we you they my our your his her their one two three
    four five more most less least other another next last first nothing something anything
    everything new old be back level seed option alternative choice variant line rest to until
    till while because since after before during through throughout without within under above
    below across along around against among toward towards upon onto off over out up down near
    beside besides behind beyond except despite although though unless whereas once whenever
    wherever even still yet already again almost quite very too rather maybe perhaps however
    therefore thus hence otherwise instead meanwhile usually often always never sometimes now
    today currently possibly probably really simply been being am let's that's what's there's nor
    much many few several such enough half twice whatever whichever nobody somebody someone whom
    please thanks ok okay well given based regarding depending according including apart together
    whole entire plus minus versus vs etc eg ie seem appear happen belong cost live matter remain
    become come contain differ exist lack own agree disagree hope feel remember notice tell reach
    resume answer stand share correct hear got told written shown kept made elsewhere afterwards
    part longer path yield
"""
"""What coding is made of, and words that begin a sentence; each is judged by what it is done to."""
_OBJECTS = """
    the a an all my our your their his her this these those every each any it them everyone
    everybody anyone everything both some customers people
"""
"""Behind these, the word at the beginning is an order."""
_ORDERED = "and then please yes just now also i we"
"""Where an order can begin within a sentence."""
_PARTICLES = "off out down up over away back"
"""Between an order and its object."""

_TWO_FACED = """
    accept approve bring change close commit confirm connect convert cut deal disable edit enable
    enforce execute export expose forward get give hold increase inject launch lead leave let lift
    lock lower make merge migrate modify move offer open order pause place port put raise reduce
    register remove replace report request reserve restart restore schedule serve set skip split
    start stop stream strip supply switch sync take touch train turn update upgrade vendor reset
    clear stage
"""
"""Of these known verbs as much is done to code as to the world."""
_PLAIN = "disable enable turn approve remove replace grant give restart migrate"
"""Those that are never nouns, so that no article has to follow."""
_CODE = """
    abstraction alias annotation answer api app approach argument array assertion attribute
    backend badge behaviour behavior benchmark block border bound branch browser buffer bug build
    bundle button byte cache call callback case change changes changelog chart check checkbox
    chunk class cli code colour color column command comment commit compiler component computation
    condition config configuration console constant constructor contrast controller counter
    coverage css csv cursor dataclass date debugger debug declaration decorator default definition
    delay dependency dependencies depth description design dev diagram dialog diff directory doc
    docs docstring documentation draft dropdown duration edge edit editor element encoding
    endpoint entry enum error errors event example exception expression factory feature field
    figure file files filter fixture flag folder font footer form format formatter frame framework
    frontend function functions generator glossary gap grid guide handler header heading height
    helper hint hook html icon id implementation import imports indentation index input instance
    integer interface item items iteration json key keyword label layout legend length level
    library line lines link lint linter list literal loader local lock log logger logging logs
    loop macro main map margin markdown menu message method metric minimum mock modal model module
    name namespace naming node notation notebook object operation operator option options output
    overlay package padding page pagination panel paragraph parameter parser path pattern
    performance placeholder plan plugin popup port pr precision prefix preview print priority
    profiler progress project prompt property protocol pull query question queue radius range rate
    readme refactor refactoring regex region render request response result results retry return
    review rounding route router row rule rules run sample schema scope screen script scroll
    section selector sentence separator serializer setting settings setup shape sidebar signature
    size sketch slider snapshot snippet solution sort space spec spinner stage state statement
    step string struct structure stub style stylesheet subclass suffix suite summary symbol syntax
    tab table tag task template terminal test tests text theme thread threshold thumbnail timeout
    timer title toast toggle token tolerance tool toolbar tooltip topic tracing tutorial type
    types typo ui url value values variable variables variant verbosity version view viewport
    visibility warning warnings watcher whitespace widget width window word wording worker
    workflow wrapper yaml toml zoom todo lists names spelling screenshot doctest spaces tabs
    migration decimals top bottom start beginning left right first second third shorter longer
    simpler faster readable optional required configurable dead unused trailing mode strict
    caching linting typing highlighting wrapping autocomplete completion dark debugging formatting
    tooltips telemetry nothing something here later now small
"""
"""What code, its pages and its documents are made of."""

# -- idioms ----------------------------------------------------------------------------------------

_SHOWN = (
    "(?:delete|deletion|drop|publish|purchase|buy|pay|discard|overwrite|erase|purge|revoke|wipe|"
    "release|deploy|deployment|ship|shipping|cancel|send|submit|remove|announcement|payment)"
)
_PART = (
    "(?:buttons?|icons?|dialogs?|labels?|menus?|links?|tooltips?|pages?|screens?|forms?|"
    "shortcuts?|wording|copy|colou?rs?|hovers?|toolbars?|fields?|text|confirmation|modal|spinner)"
)
_IDIOMS = r"""
    drop ?(?:downs?|shadows?|caps?|in|zones?|lets?|box|outs?|targets?)\b
    drag and drop(?:p\w+)?
    drop (?:a|an|me|us|them|you) (?:quick |short )?(?:line|note|hint|message|comment|mail)s?
    (?:back|rain|tear|dew)drops?
    pa(?:y|ys|id|ying) (?:close |some |more |any )?attention
    pa(?:y|ys|id|ying) (?:off|down) (?:\S+ )?(?:technical |tech )?debt
    pay (?:per|as)\b
    buy(?:s|ing)? (?:us |me |you )?(?:some |more )?time
    buy in
    (?:non|not) destructive(?:ly)?|nondestructive
    pub(?:lisher|lication)s?\b
    dispatch(?:ers?| table| function| method| events?)\b
    (?:deploy|ship|release|launch)\w* (?:\S+ ){0,4}(?:to|on|in) (?:the |our |a )?(?:staging|dev|\
        development|local|localhost|preview|sandbox|test)(?: \S+)?
"""
"""What is said like a deed, and is none."""
_NAMES = rf"""
    permanent (?:link|url|redirect|marker)s?
    (?:production|prod) (?:build|mode|bundle|config\w*|profile|readme|docs?|checklist|code)s?
    production (?:like|ready|grade|quality)
    live (?:reload|preview|region|demo|chat|template|share|search)\w*
    release (?:notes?|candidates?|dates?|names?|titles?|cycles?|schedules?|mode|builds?|\
        checklists?|headings?)
    deploy(?:ment)?s? (?:docs?|documentation|guides?|diagrams?|scripts?|sections?|notes?|logs?)
    (?:before|after|since|until|in|for|of) (?:the |a |an |this |each |every )?(?:next |last |\
        first |previous |latest )?release
    (?:the|a|an|our|its|this|that|your|each|every|no|which|what) (?:\S+ )?{_SHOWN} {_PART}
    published (?:at|on|date)\b
"""
"""Things that are called after a deed; beside one that carries them away, this is no excuse."""
_CARRIES = """
    deploy* redeploy* ship* shipping push* promote* promoting release* releasing launch* roll
    rolling rolled publish* upload* send* sending sent mail* email* submit* distribute* transfer*
    wire wired pay paid paying buy buying purchase* press* click* tap* hit confirm*
"""
"""A production build that is sent somewhere is more than a name."""
_MONEY_SIGN = r"[$€£¥₿]\s?\d|\d\s?[€£¥₿]"


_compile = cache(re.compile)  # when it is needed: a hook that decides nothing starts without it


def one_way(*texts: str) -> str:
    """The words that say that something cannot be taken back; nothing where there are none."""
    for text in texts:
        if len(text) > _LONGEST:
            return "a text too long to be judged"
        if strange := _strange(text):
            return strange
        line = _compile(_LINE).match(text)
        if line and line[1] not in _words(_LOOKS) and line[1] not in _words(_KNOWN):
            return f"a command of {line[1]}"
        if raw := _compile(_RAW).search(text):
            return raw[0]
        for words in _readings(text):
            # Idioms are looked for only where there is something to be excused.
            if _caught(words) and (found := _caught(_excuse(words))):
                return found
    return ""


# -- how a text reads ------------------------------------------------------------------------------


@cache
def _letter(sign: str) -> str:
    """What a sign looks like, where it is a form of a Latin letter; itself otherwise."""
    found = re.search(r"\bLETTER (?:.* )?([A-Z])(?: WITH .*)?$", unicodedata.name(sign, ""))
    return found[1].lower() if found and "LATIN" in unicodedata.name(sign) else sign


def _fold(text: str) -> str:
    """A text without accents, invisible signs, and other shapes of Latin letters."""
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKD", text.replace("’", "'").replace("ß", "ss"))
    kept = (c for c in text if unicodedata.category(c) not in ("Cf", "Mn", "Me"))
    return "".join(c if c.isascii() else _letter(c) for c in kept)


def _strange(text: str) -> str:
    """What cannot be read for certain: letters of other scripts, and what is no text at all."""
    if text.isascii() and text.isprintable():
        return ""
    if any(unicodedata.bidirectional(c) in _TURNING for c in text):
        return "signs that turn text around"
    for sign in _fold(text):
        kind = unicodedata.category(sign)
        if kind in ("Co", "Cn", "Cs") or (kind == "Cc" and sign not in "\t\n\r\f"):
            return "signs that are no text"
        if kind in ("Lo", "Lm", "Lu", "Ll", "Lt") and "LATIN" not in unicodedata.name(sign, ""):
            return "letters other than Latin ones"
    return ""


_SPELT = r"\b[a-z](?:[^\w\n]{1,2}[a-z]\b){3,}"
_SPLIT = r"(?<![a-z])[a-z]+(?:[^\s\w,;:!?/'\"()]|_)[a-z]+(?:(?:[^\s\w,;:!?/'\"()]|_)[a-z]+)*"
_LEET = str.maketrans("013457@$", "oieastas")
_MIXED = r"[a-z0-9@$]+"


def _readings(text: str) -> list[str]:
    """A text as words with single spaces: before and after camelCase and snake_case are split.

    Letters with gaps between them, and figures in the place of letters, are read together too.
    """
    text = _compile(_MONEY_SIGN).sub(" money 1", _fold(text))
    small = text.casefold()
    spelt = [re.sub(r"[^a-z]", "", found) for found in _compile(_SPELT).findall(small)]
    spelt += [re.sub(r"[^a-z]", "", found) for found in _compile(_SPLIT).findall(small)]
    spelt += [
        found.translate(_LEET) for found in _compile(_MIXED).findall(small) if not found.isalpha()
    ]
    spelt = [word for word in spelt if word in _forms(_ALONE)]
    parted = _compile(_CAMEL).sub(" ", text.replace("_", " ")).casefold()
    found = [_plain(parted)]
    if parted != small:
        found.append(_plain(small))
    return [*found, *spelt]


def _plain(text: str) -> str:
    words = " ".join(_compile(_WORD).findall(text))
    return _compile(_JOINED).sub(_join, words)


def _join(found: re.Match[str]) -> str:
    joined = found[0].replace(" ", "")
    return "allusers" if joined.endswith(("user", "users")) else joined


def _excuse(words: str) -> str:
    """The words without idioms, and without names that stand near no deed that carries them."""
    words = " ".join(_pattern(_IDIOMS, r"[\w']").sub(" ", words).split(" "))
    carrying = _forms(_CARRIES)

    def excuse(found: re.Match[str]) -> str:
        before = words[max(found.start() - _AROUND, 0) : found.start()].split()[-_BEFORE:]
        behind = words[found.end() : found.end() + _AROUND].split()[:_BEFORE]
        return " " if carrying.isdisjoint((*before, *behind)) else found[0]

    return _pattern(_NAMES, r"[\w']").sub(excuse, words)


# -- what gives it away ----------------------------------------------------------------------------


def _caught(words: str) -> str:
    """What gives it away: a word, a command, a phrase, or a deed and what it is done to."""
    listed = words.split()
    alone = next((word for word in listed if word in _forms(_ALONE)), "")
    if alone or (found := _tool(listed) or _pair(listed) or _order(listed)):
        return alone or found
    bare = " ".join(word for word in listed if word not in _SIGNS or word == ":")
    for patterns in (_SHELL, _PHRASES):
        if phrase := _pattern(patterns, r"\w").search(bare):
            return phrase[0].strip()
    return ""


def _tool(words: list[str]) -> str:
    """A program for machines and stores that is told to change something."""
    for at, word in enumerate(words):
        if word in _words(_TOOLS):
            orders = _words(_MUTATING + _RULES if word in _words(_CLOUDS) else _MUTATING)
            told = next((w for w in words[at + 1 : at + 5] if w in orders), "")
            if told and not (word in ("docker", "compose") and told == "up"):
                return f"{word} … {told}"
    return ""


def _order(words: list[str]) -> str:
    """An order whose verb is not known, or that is about nothing that code is made of."""
    for at, word in enumerate(words[:-1]):
        before = words[at - 1] if at else "."
        asked = before == "to" and words[at - 2] in ("me", "us")
        begins = before in _SIGNS or before in _words(_ORDERED) or asked
        if not begins or not word.isalpha():
            continue
        behind = words[at + 1 : at + 8]
        if len(behind) > 1 and behind[0] in _words(_PARTICLES):
            behind = behind[1:]
        ordered = behind[0] in _words(_OBJECTS)
        if ordered and word not in _known():
            return f"{word} {words[at + 1]}"
        about = behind[1:] if ordered else behind
        worldly = word in _words(_TWO_FACED) and ordered and behind[0] not in ("it", "them", "this")
        bare = word in _words(_PLAIN) and behind[0].isalpha() and not ordered
        if about and (worldly or bare) and _things_of_code().isdisjoint(about[:6]):
            return " ".join(words[at : at + 3])
    return ""


def _pair(words: list[str]) -> str:
    """A deed and, within a few words, what it must not be done to unasked."""
    verbs = _verbs()
    nearby = not _words(_NEARBY).isdisjoint(words)
    for at, word in enumerate(words):
        for number, begins in verbs.get(word, ()):
            if (
                begins
                and at
                and words[at - 1] not in _words(_BEGINS)
                and words[at - 1] not in _SIGNS
            ):
                continue
            if nearby and _DEEDS[number].near:
                continue
            things = _things(number)
            behind = _thing(words, at + 1, min(at + 1 + _APART, len(words)), things)
            before = "" if begins else _thing(words, max(at - _BEFORE, 0), at, things)
            if behind or before:
                return f"{word} … {behind}" if behind else f"{before} … {word}"
    return ""


def _thing(words: list[str], first: int, end: int, things: frozenset[str]) -> str:
    """The first such thing between two places, unless something small comes sooner."""
    for at in range(first, end):
        follows = words[at + 1] if at + 1 < len(words) else ""
        if words[at] in things and follows not in _words(_LABELS):
            return words[at]
        if words[at] in _words(_SMALL):
            break
    return ""


@cache
def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


@cache
def _known() -> frozenset[str]:
    return _forms(" ".join(f"{word}*" for word in _KNOWN.split()))


@cache
def _things_of_code() -> frozenset[str]:
    return _forms(" ".join(f"{thing}+" for thing in _CODE.split()))


@cache
def _verbs() -> dict[str, list[tuple[int, bool]]]:
    """Each form of each verb, with the deeds that it belongs to and whether it has to begin."""
    found: dict[str, list[tuple[int, bool]]] = {}
    for number, deed in enumerate(_DEEDS):
        for verb in deed.verbs.split():
            for form in _forms(verb.lstrip("^")):
                found.setdefault(form, []).append((number, verb.startswith("^")))
    return found


@cache
def _things(number: int) -> frozenset[str]:
    return _forms(" ".join(f"{thing}+" for thing in _DEEDS[number].things.split()))


@cache
def _pattern(listed: str, beyond: str) -> re.Pattern[str]:
    """Any of the lines as whole words, with nothing of what is `beyond` right behind them."""
    whole = re.sub(r"\\\n\s*", "", listed.strip())
    lines = "|".join(line.strip() for line in whole.split("\n"))
    return re.compile(rf"(?<![\w'])(?:{lines})(?!{beyond})")


@cache
def _forms(listed: str) -> frozenset[str]:
    """Words with their endings: those of a verb for a star, those of a noun for a plus."""
    found: set[str] = set()
    for word in listed.split():
        stem = word.rstrip("*+")
        found.add(stem)
        if word.endswith("*"):
            endings = ("s", "es", "d", "ed", "ing", "r", "rs", "er", "ers")
            doubled = (f"{stem[-1]}{ending}" for ending in ("ed", "ing", "er"))
            found |= {stem + ending for ending in (*endings, *doubled)}
            found |= {stem[:-1] + "ing"} if stem.endswith("e") else set()
        elif word.endswith("+"):
            found |= {stem + ending for ending in ("s", "es", "'s")}
        found |= {stem[:-1] + "ies", stem[:-1] + "ied"} if stem.endswith("y") else set()
    return frozenset(found)
