"""What people say around their choice: fillers, hedges, questions, second thoughts, yes and no."""

from __future__ import annotations

from quandary.reading.words import wordings, wordset

STATING = wordset("he she they has had was were did done been")
"""Words of a statement about others: never a choice, and no option's telling words."""
FUNCTION = wordset(
    "the a an i id ill im ive me my we us our you your it its them their this that these "
    "those to of in on at by for from with into onto and or but if is are be am do does so "
    "very too then than there here please pls itll thatll theyll youll itd"
)
"""Words that hold sentences together and never tell options apart."""
INTERJECTIONS = wordset(
    "yes yep yeah yup yea ya ok okay k kk sure alright right well hmm hm hmmm um uh oh ah "
    "ahh aha eh er erm hey hi hello so anyway please pls plz thanks thank thx ty you cheers "
    "lol haha and ffs wtf omg jeez damn dammit fuck fucking goddamn bloody dude bro man"
)
PRAISE = wordset(
    "good great nice fine perfect cool best better lovely excellent awesome amazing neat "
    "acceptable reasonable doable tolerable plenty sufficient"
)
"""Said of an option behind it; in front of a noun it is another thing: `good question`."""
CHOOSING = wordset(
    "let lets us go going went with for do doing i id ill im ive we wed well were would "
    "will like love want wanna need to choose choosing chose pick picking select selecting "
    "take taking vote voting opt opting prefer my our choice selection preference answer "
    "is be its it give gimme me get use using try have rather just only simply "
    "definitely probably obviously certainly surely clearly think guess suppose say said "
    "feel the a an that this goes gonna shall should can could may you make please pls plz "
    "ok okay yeah yes yep sure am actually honestly personally really totally still now "
    "then so both put down as mark stick sticking either between favor favour"
)
CHOOSERS = wordings(
    "lets,let us,go with,go for,going with,going for,id go,i go,i pick,i choose,i select,"
    "ill take,i take,i vote,my vote,my pick,my choice,so,i prefer,id prefer,id like,i want,"
    "we want,i would,ill go,we should,we go,we take,im for,id rather,i say,id say,"
    "therefore,hence,i think"
)
"""Openings that make a clause a choice, wherever it stands."""
ENDINGS = PRAISE | wordset(
    "enough please pls plz thanks thank thx ty you then instead it obviously definitely for now i "
    "think guess suppose imo imho tbh me us would be is one ones option choice ok okay works work "
    "sounds sound looks seems seem right actually really today thing way only of course lol haha "
    "cheers mate too as well that this them all my our pick vote the makes sense a to go wins id "
    "say sure yes yeah here asap"
)
_PLAIN = wordset(
    "them their his her hers theirs who which what whichever whatever there here of in on at by "
    "from into onto about up out between via and or but because since are being having does "
    "some very quite rather bit somewhere someone somebody something anything everything anyone "
    "everyone everybody thing things stuff kind sort type version way ways route path "
    "variant alternative yet maybe basically essentially simply straight away right quickly "
    "soon seems sounds feel feels want wish hope these those your yours mine ours "
    "however though although also plus while than where im ill theres thats heres whats happy "
    "glad keen ahead said says sounding believe reckon assume lets let beside "
    "near alongside whoever person guy pretty fairly super extremely max tops together "
    "properly carefully gladly immediately cleanly happily"
)
NEUTRAL = (CHOOSING | ENDINGS | INTERJECTIONS | _PLAIN) - PRAISE - {"down"}
"""Words that say nothing about which option is meant."""

MODIFIERS = wordset(
    "more most much many less fewer other others another else again already still back off over "
    "under little whole again myself ourselves yourself each every any own even first next same "
    "different new nothing none nobody"
)
"""Words that change what is said, but tell no option by themselves."""

LIKING = wordset("like love likes loved liked nice")
REASONS = wordset("because cause cuz coz bc since although though however whereas")
CONNECTIVES = REASONS | {"but"}
QUANTIFIERS = wordset(
    "all any anything anyone everything everyone everybody every them these none everywhere "
    "anywhere anytime"
)
EXCEPT = wordset("but except excluding besides minus bar without save")
NEGATORS = wordset(
    "not no dont never without cannot cant wont isnt arent doesnt didnt wasnt werent havent "
    "hasnt shouldnt wouldnt neither nor non nobody"
)
REFUSALS = wordset("deny reject refuse decline skip stop cancel abort avoid prevent forbid")
"""Verbs that make what follows not happen, in an option's label."""
UNDOINGS = REFUSALS | wordset(
    "delete remove drop discard disable block ignore close cut hold pause freeze revoke"
)
"""Verbs whose object alone does not say that: `the account` is not `Cancel the account`."""
EXCLUDERS = wordset("not no dont never neither wont shouldnt wouldnt")

CORRECTIONS = wordings(
    "actually,no wait,wait no,oh wait,ah wait,hmm wait,hang on,hold on,scratch that,"
    "strike that,i mean,i meant,make that,on second thought,on second thoughts,"
    "second thought,correction,oops,whoops,nvm,nevermind,never mind,sorry,no sorry,"
    "sorry no,actually no,no actually,or rather,hmm no,oh no,ah no,no no,my bad,my mistake,"
    "change that to,change my mind,changed my mind,i changed my mind,just kidding,jk,"
    "forget that,no make it,rather,wait actually,actually wait"
)
HEDGES = wordings(
    "not sure,unsure,not certain,dont know,do not know,idk,dunno,no idea,no clue,"
    "not a clue,depends,depending,maybe,perhaps,undecided,cant decide,cannot decide,"
    "cant choose,hard to say,hard to tell,difficult to say,up to you,your call,you decide,"
    "you choose,you pick,whichever,im easy,dont care,do not care,dont mind,no preference,"
    "no opinion,any is fine,anything is fine,either is fine,either one,either works,"
    "either way,whatever you,whatever works,could be,might be,doesnt matter,"
    "does not matter,not yet sure,still thinking,thinking about it,think about it,"
    "need to think,let me think,on the fence,torn,wondering,i wonder,leaning,lean,tbd,"
    "need more time,havent decided,not decided,surprise me,cant say,who knows,might,"
    "dealers choice,sleep on it,get back to you,all the same to me,makes no difference,"
    "what do you think,what would you do,wdyt,what do you recommend,not fussed"
)
PROVISOS = wordings("as long as,only if,only when,provided,assuming,unless")
"""What makes a choice hang on something."""
DUTIES = wordings("i have to,ive got to,i got to,i gotta,i must,im about to")
"""Openings of what the person has to do, which is no choice among options."""
OWNING = wordings("we have,i had,we had,i got,we got,i still have,we still have,ive got,weve got")
"""Openings of what there is already."""
DECLARING = wordset("say admit pick choose go agree vote take")
WRONGS = wordset("out off over down up wrong bad ugly broken missing bland boring awful")
"""Said behind "is": what is the matter with something, which is no choice of it."""
DROPPING = wordset("drop remove skip lose forget scratch omit exclude cut")
"""Verbs that take an option out of a list; an option's own word goes before."""
LEADS = wordings(
    "go with,going with,went with,talk about,discuss,help with,advice on,hear about,"
    "talk to someone about,talk to somebody about,start with,begin with,"
    "starting with,start by,begin by,same as,just like,goes to,"
    "settle on,settle for,the answer is,my answer is,the choice is,my choice is,the winner is"
)
"""What leads to a choice at the beginning of a clause."""
OPINING = wordset("think guess say suppose believe reckon prefer choose pick vote would assume")
"""What people do with a choice: `the map i think`, unlike `the map we have`."""
RELATIVE = wordset("that thats which with where who whose without for")
POLITE_IFS = wordings(
    "if possible,if you can,if you could,if thats ok,if thats okay,if thats fine,"
    "if that is ok,if you dont mind,if you like,if you want,if i may,if i had to choose,"
    "if you ask me,if i have to choose,if i must,if that works,if needed,if necessary,"
    "if i had to pick"
)
CONDITIONS = wordset(
    "if unless until till once when whenever provided providing assuming then only after first"
)
"""Words that open a condition or a sequence: what follows changes what was chosen."""

ASKING = wordset("what whats which how hows why who whos whom whose wheres is are does did")
ASKING |= wordset("was were has isnt arent doesnt didnt whatre")
ASKING_BEFORE_A_VERB = wordset("when where")
VERBS = wordset("is are was were do does did will would can could should shall has have")
ASKING_ANYTHING = wordset("can could should")
ASKING_WITH_SUBJECT = wordset("do would will shall may might have am must dont")
SUBJECTS = wordset("i we you they he she anyone someone")
REQUESTS = wordset("can could may might would will shall")
REQUESTERS = wordset("i we you u")
REQUEST_VERBS = wordset("go do have take get pick choose use please")

YES = wordings(
    "why not,yes,yep,yeah,yup,yea,ya,y,ok,okay,k,kk,okey,sure,sure thing,fine,lgtm,sgtm,agreed,"
    "agree,i agree,absolutely,definitely,certainly,of course,great,perfect,good,cool,"
    "alright,all right,aye,correct,affirmative,indeed,totally,👍,✅,🚀,sounds good,"
    "sounds great,sounds fine,sounds right,looks good,looks great,looks fine,look good,"
    "looking good,looks good to me,go ahead,go for it,go,do it,do that,ship it,"
    "works for me,that works,fine by me,fine with me,ok with me,good with me,ok by me,"
    "good by me,ja,jawohl,oui,si,hai,move on,moving on,onward,onwards,"
    "im good with it,im good with that,all good,make it so,im ok with it,"
    "im ok with that,im fine with it,im fine with that,im happy with it,im happy with that,"
    "im happy with this,happy with it,happy with that,good to go,please do,thumbs up,"
    "lets do it,lets do this,lets go,no objections,no objection,you have my blessing,"
    "accept,accepted,approve,approved,i approve,continue,confirm,confirmed,proceed,"
    "yes please,by all means,thats fine,thats good,that is fine,its fine,its good,thats ok,"
    "its ok,carry on,very good,go on"
)
NO = wordings(
    "no,nope,nah,naw,n,never,negative,👎,❌,no way,no thanks,no thank you,not ok,not okay,"
    "not good,absolutely not,definitely not,certainly not,of course not,please dont,"
    "dont do it,dont do that,do not,do not do it,do not do that,dont,no go,not approved,"
    "i disagree,disagree,hell no,not like this,no good,thumbs down,not acceptable,"
    "unacceptable,reject,rejected,decline,declined,denied,refuse,refused,disapprove,"
    "disapproved,not a chance,no chance,not happening,i dont agree,dont agree,do not agree,"
    "id rather not,rather not,not really,lets not,better not,nein,non,nee,nej"
)
NONE = wordings(
    "none,none of these,none of them,none of those,none of the above,neither,"
    "neither of them,neither of these,neither of those,nothing,nobody,no one,"
    "not any of them,not any of these"
)
TAILS = wordings(
    "who cares,why not,or whatever,or something,or so,and thats it,thats it,thats all,thats that,"
    "nothing else,and nothing else,and be done with it,and call it a day,no question,no doubt,"
    "no brainer,hands down,for sure,all day,any day,every time,as usual,as always"
)
"""Said behind a choice, to no effect."""
REST = wordings(
    "rest,the rest,all the rest,everything else,all others,all the others,the others,all the other,"
    "every other,all the other options,every other option,all other options,the remaining,"
    "the remaining ones,keep the rest,all remaining"
)
"""What was not named before."""
APPROVING = wordings(
    "yes,ok,okay,looks good,looks fine,sounds good,approve,approved,agree,agreed,confirm,"
    "confirmed,proceed,continue,go ahead,reject,rejected,deny,denied,decline,refuse,no,👍,👎"
)
"""Of those below, the ones that answer whatever was asked."""
AFFIRMING = wordings(
    "yes,ok,okay,looks good,looks fine,look good,sounds good,lgtm,all good,good to go,"
    "approve,approved,accept,accepted,agree,agreed,confirm,confirmed,proceed,continue,finish,"
    "merge,ship,deploy,release,launch,go ahead,do it,grant,allow,permit,sign,apply,good,"
    "fine,thumbs up,👍,✅"
)
REFUSING = wordings(
    "no,reject,rejected,decline,declined,deny,denied,refuse,stop,cancel,abort,dont,do not,"
    "disapprove,veto,disagree,block,never,forbid,not ok,👎,❌"
)
QUALIFIERS = wordset("with but conditional conditionally partially partly except if after")

ALIKE = (
    wordset("delete remove erase drop discard scrap trash bin purge wipe scrub kill axe"),
    wordset("defer postpone delay later shelve"),
    wordset("wait hold pause park"),
    wordset("approve accept greenlight endorse"),
    wordset("reject decline deny refuse disapprove"),
    wordset("cancel abort stop halt terminate"),
    wordset("keep retain preserve save"),
    wordset("keep continue carry proceed"),
    wordset("split divide separate"),
    wordset("change modify alter adjust amend"),
    wordset("rework redo rewrite revise overhaul"),
    wordset("deploy ship release launch publish"),
    wordset("rollback revert undo restore"),
    wordset("skip omit ignore"),
    wordset("buy purchase"),
    wordset("rent hire lease"),
    wordset("employ hire recruit"),
    wordset("car drive vehicle"),
    wordset("train rail railway"),
    wordset("flight fly airplane"),
    wordset("discuss argue debate talk"),
    wordset("consult talk speak"),
    wordset("include add incorporate"),
    wordset("escalate raise"),
    wordset("retry rerun"),
    wordset("upgrade update bump"),
    wordset("cheap inexpensive affordable"),
    wordset("fast quick rapid speedy"),
    wordset("expensive costly pricey"),
    wordset("big large"),
    wordset("trial court lawsuit sue litigate"),
    wordset("offer propose"),
)
"""Words that mean much the same as what to do; looked at only when nothing else fits."""
PHRASAL = {
    (verb, particle): meaning
    for verb, particle, meaning in wordings(
        "hold off wait, put off postpone, hang fire postpone, turn down reject, get rid remove, "
        "throw away remove, take out remove, leave out omit, leave off omit, kick out omit, roll "
        "out deploy, roll back rollback, break up split, start over redo, call off cancel"
    )
}
