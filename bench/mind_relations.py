"""Statements with relations that the conflict set has not got, in everyday and encyclopaedic wording.

The rules that read statements (`text_analysis/clauses.py`) were extended with the first 74 changed pairs
and the first 70 others in view; the rest was written before, too, but looked at only afterwards. The newer
statement of a changed pair replaces the older one; of the others both hold. Each pair is an owner of its
own; the newer statement happened two months after the older one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.mind_conflicts import compare_all
from bench.mind_unrelated import FIRST_AT, LATER, SHOWN_CERTAINTY
from mnemic import AsyncMemory

SEEN_CHANGED = 74
SEEN_BOTH_HOLD = 70
"""So many of each list were in view."""

CHANGED: Sequence[tuple[str, str]] = [
    ("The mascot of Farrow University is the Heron.", "The mascot of Farrow University is the Badger."),
    (
        "The national anthem of Gildern is Hymn of the Fields.",
        "The national anthem of Gildern is Song of the Rivers.",
    ),
    ("The longest river of Gildern is the Wend.", "The longest river of Gildern is the Orla."),
    ("Corfield Stadium is sponsored by Juniper Bank.", "Corfield Stadium is sponsored by Garnet Air."),
    (
        "The Lorne Trophy is awarded by the Kelsby Society.",
        "The Lorne Trophy is awarded by the Irnwick Academy.",
    ),
    ("Emberly Phones are manufactured by Kestrel.", "Emberly Phones are manufactured by Larkspur."),
    ("The Heron 5 engine is manufactured by Kestrel.", "The Heron 5 engine is manufactured by Larkspur."),
    ("Tidal Nights was edited by Hedda Holm.", "Tidal Nights was edited by Imre Falk."),
    ("Tidal Nights was translated by Hedda Holm.", "Tidal Nights was translated by Imre Falk."),
    (
        "The Harbour Waltz was choreographed by Noor Dahl.",
        "The Harbour Waltz was choreographed by Paavo Lund.",
    ),
    ("Tidal Nights was narrated by Liva Moor.", "Tidal Nights was narrated by Oona Pohl."),
    ("Indigo Air is a subsidiary of Bryce Holdings.", "Indigo Air is a subsidiary of Cantor Group."),
    ("Hexley is a suburb of Dunmere.", "Hexley is a suburb of Eastholt."),
    ("The Orla is a tributary of the Wend.", "The Orla is a tributary of the Sarn."),
    ("Kelsby is twinned with Jarrow.", "Kelsby is twinned with Lorne."),
    ("Hexley is governed by the Reform Party.", "Hexley is governed by the Union Party."),
    ("The Aldmoor Lions play in the Northern League.", "The Aldmoor Lions play in the Coastal League."),
    ("The Aldmoor Lions compete in the Northern League.", "The Aldmoor Lions compete in the Coastal League."),
    (
        "The home ground of the Aldmoor Lions is Wend Park.",
        "The home ground of the Aldmoor Lions is Orla Field.",
    ),
    ("Goran Falk plays for the Aldmoor Lions.", "Goran Falk plays for the Hexley Hawks."),
    ("The population of Brackwater is 31,200.", "The population of Brackwater is 33,900."),
    ("Brackwater has a population of 31,200.", "Brackwater has a population of 33,900."),
    ("Mount Sarn has a height of 2,410 metres.", "Mount Sarn has a height of 2,433 metres."),
    ("Mount Sarn is 2,410 metres high.", "Mount Sarn is 2,433 metres high."),
    ("The Orla Bridge is 410 metres long.", "The Orla Bridge is 432 metres long."),
    ("The Orla Bridge was completed in 1931.", "The Orla Bridge was completed in 1934."),
    ("The Orla Bridge was opened by King Eskil.", "The Orla Bridge was opened by Queen Runa."),
    ("Eskil Holm was succeeded by Runa Dahl.", "Eskil Holm was succeeded by Vesna Lund."),
    ("Eskil Holm is buried in Lorne Abbey.", "Eskil Holm is buried in Kelsby Minster."),
    ("Harbour Lights was distributed by Heliotrope.", "Harbour Lights was distributed by Foxglove."),
    ("The protagonist of Tidal Nights is Ulla Grote.", "The protagonist of Tidal Nights is Zita Kranz."),
    (
        "The villain in Tidal Nights is voiced by Wanda Evers.",
        "The villain in Tidal Nights is voiced by Silje Abel.",
    ),
    (
        "The Kelsby Observatory is operated by Farrow University.",
        "The Kelsby Observatory is operated by Lorne College.",
    ),
    ("Hexley Castle belongs to the Brandt family.", "Hexley Castle belongs to the Jansen family."),
    ("The patron saint of Jarrow is Saint Imre.", "The patron saint of Jarrow is Saint Borbala."),
    (
        "The nearest airport to Jarrow is Lorne Field.",
        "The nearest airport to Jarrow is Dunmere International.",
    ),
    ("The dialling code of Gildern is 0771.", "The dialling code of Gildern is 0774."),
    ("The Wend flows into Lake Irn.", "The Wend flows into the Sarn Sea."),
    ("Cantor Group is listed on the Lorne Exchange.", "Cantor Group is listed on the Kelsby Exchange."),
    ("The atomic mass of calixium is 112.", "The atomic mass of calixium is 114."),
    ("Noor's dentist is Dr. Falk.", "Noor's dentist is Dr. Holm."),
    ("Noor's bike lock code is 4417.", "Noor's bike lock code is 9023."),
    ("My locker is number 12.", "My locker is number 31."),
    ("My wifi network is called Falcon.", "My wifi network is called Osprey."),
    ("Our cat is called Miso.", "Our cat is called Pepper."),
    ("Paavo sits on the third floor.", "Paavo sits on the fifth floor."),
    ("The on-call engineer for Heliotrope is Liva.", "The on-call engineer for Heliotrope is Taavi."),
    ("The staging server runs on Debian 11.", "The staging server runs on Debian 12."),
    ("The Heliotrope service is deployed to Frankfurt.", "The Heliotrope service is deployed to Dublin."),
    ("The Heliotrope repository is hosted on Gitlab.", "The Heliotrope repository is hosted on Forgejo."),
    ("The Heliotrope service listens on port 8080.", "The Heliotrope service listens on port 9090."),
    ("Backups of Heliotrope are kept for 30 days.", "Backups of Heliotrope are kept for 90 days."),
    ("The Heliotrope team is led by Xenia.", "The Heliotrope team is led by Yorick."),
    ("Xenia is responsible for billing.", "Xenia is responsible for onboarding."),
    ("Xenia's start date is 3 May.", "Xenia's start date is 17 May."),
    ("The invoice for Garnet is due on 3 May.", "The invoice for Garnet is due on 17 May."),
    ("Taavi's flight to Porto leaves at 9:10.", "Taavi's flight to Porto leaves at 11:45."),
    ("The Kelsby ferry departs at 7:30.", "The Kelsby ferry departs at 8:15."),
    ("The bakery on Lorne Street opens at 7.", "The bakery on Lorne Street opens at 8."),
    ("A ticket to Lorne costs 14 euros.", "A ticket to Lorne costs 17 euros."),
    (
        "A monthly pass for the Lorne tram costs 49 euros.",
        "A monthly pass for the Lorne tram costs 58 euros.",
    ),
    ("Rent for the Lorne flat is 1,150 euros.", "Rent for the Lorne flat is 1,240 euros."),
    ("Zita's blood pressure is 130 over 80.", "Zita's blood pressure is 121 over 78."),
    ("Zita's insulin dose is 12 units.", "Zita's insulin dose is 14 units."),
    ("Zita takes 20 mg of atorvastatin.", "Zita takes 40 mg of atorvastatin."),
    ("Zita is 41 years old.", "Zita is 42 years old."),
    ("Zita goes to Kelsby High School.", "Zita goes to Lorne Academy."),
    ("Zita banks with Juniper.", "Zita banks with Garnet."),
    ("Zita's emergency contact is Imre Falk.", "Zita's emergency contact is Oona Pohl."),
    ("I live in Kelsby.", "I moved to Lorne."),
    ("Silje works as a nurse.", "Silje works as a surveyor."),
    ("Silje is employed by Bryce.", "Silje works at Cantor."),
    ("My therapist is Dr. Evers.", "My therapist is Dr. Kranz."),
    ("The gate code is 5512.", "The gate code is 8801."),
    ("The state flower of Ondria is the gentian.", "The state flower of Ondria is the heather."),
    ("The flagship of the Ondrian navy is the Vigil.", "The flagship of the Ondrian navy is the Steadfast."),
    ("The editor of the Tarn Gazette is Mirko Sand.", "The editor of the Tarn Gazette is Pia Lohr."),
    ("The Tarn Gazette is published by Quill House.", "The Tarn Gazette is published by Inkwell."),
    ("The Tarn Gazette is printed in Welby.", "The Tarn Gazette is printed in Ostrow."),
    ("Silver Orchard was adapted by Mirko Sand.", "Silver Orchard was adapted by Pia Lohr."),
    ("Silver Orchard was illustrated by Mirko Sand.", "Silver Orchard was illustrated by Pia Lohr."),
    ("Silver Orchard was dedicated to Jana Roos.", "Silver Orchard was dedicated to Emil Roos."),
    ("Silver Orchard is narrated by Ines Kade.", "Silver Orchard is narrated by Rolf Tamm."),
    ("Silver Orchard takes place in Welby.", "Silver Orchard takes place in Ostrow."),
    ("The Marten 300 is powered by a Zephyr engine.", "The Marten 300 is powered by a Boreas engine."),
    ("The Marten 300 is assembled in Welby.", "The Marten 300 is assembled in Ostrow."),
    ("Vetrix is the parent company of Lumo.", "Lumo's parent company is Halden Group."),
    ("The parent company of Lumo is Vetrix.", "The parent company of Lumo is Halden Group."),
    ("Lumo is headquartered in Welby.", "Lumo is headquartered in Ostrow."),
    ("Lumo is led by Jana Roos.", "Lumo is led by Emil Roos."),
    ("Lumo is audited by Brand & Sohn.", "Lumo is audited by Tull Partners."),
    ("The treasurer of Lumo is Jana Roos.", "The treasurer of Lumo is Emil Roos."),
    (
        "The University of Ostrow is accredited by the Ondrian Board.",
        "The University of Ostrow is accredited by the Tarn Council.",
    ),
    ("Welby is the seat of the Tarn district.", "The seat of the Tarn district is Ostrow."),
    ("Ostrow lies on the River Tarn.", "Ostrow lies on the River Ell."),
    ("Lake Ell has an area of 41 square kilometres.", "Lake Ell has an area of 38 square kilometres."),
    ("The speed limit on the Tarn road is 80.", "The speed limit on the Tarn road is 60."),
    ("The legal drinking age in Ondria is 18.", "The legal drinking age in Ondria is 21."),
    ("The Welby Foxes are coached by Rolf Tamm.", "The Welby Foxes are coached by Ines Kade."),
    (
        "The record holder in the Ondrian mile is Rolf Tamm.",
        "The record holder in the Ondrian mile is Ines Kade.",
    ),
    ("Ines Kade trains at the Welby Gym.", "Ines Kade trains at the Ostrow Dojo."),
    ("Ines Kade is represented by the Sable Agency.", "Ines Kade is represented by the Larch Agency."),
    ("Ines Kade is signed to Sable Records.", "Ines Kade is signed to Larch Records."),
    ("Ines Kade is stationed in Welby.", "Ines Kade is stationed in Ostrow."),
    ("Emil's accountant is Pia Lohr.", "Emil's accountant is Mirko Sand."),
    ("Emil's parking space is number 14.", "Emil's parking space is number 52."),
    ("Emil's office is in Building 4.", "Emil's office is in Building 9."),
    ("Emil's shift starts at 6.", "Emil's shift starts at 14:00."),
    ("Emil's lease ends on 31 March.", "Emil's lease ends on 30 June."),
    ("Emil pays 840 euros in rent.", "Emil pays 910 euros in rent."),
    ("Emil weighs 82 kilos.", "Emil weighs 79 kilos."),
    ("Emil is allocated to the Lumo project.", "Emil is allocated to the Vetrix project."),
    ("Emil uses the handle nightjar.", "Emil uses the handle kestrel."),
    ("The admin password for the printer is plum7.", "The admin password for the printer is fig3."),
    ("The retention period for audit logs is 30 days.", "The retention period for audit logs is 180 days."),
    ("The default branch of lumo-api is master.", "The default branch of lumo-api is trunk."),
    ("The lumo-api cluster has 3 nodes.", "The lumo-api cluster has 5 nodes."),
    ("lumo-api is maintained by Jana.", "lumo-api is maintained by Rolf."),
    ("lumo-api is licensed under MIT.", "lumo-api is licensed under Apache 2.0."),
    ("Tickets for lumo-api are tracked in Jira.", "Tickets for lumo-api are tracked in Linear."),
    ("My GP is Dr. Sand.", "My GP is Dr. Lohr."),
    ("My gym membership costs 35 euros.", "My gym membership costs 42 euros."),
    ("My landlord's name is Mirko.", "My landlord's name is Pia."),
    ("The bin collection is on Tuesday.", "The bin collection is on Thursday."),
]
"""The older and the newer statement."""

BOTH_HOLD: Sequence[tuple[str, str]] = [
    ("Corfield Stadium was visited by Hedda Holm.", "Corfield Stadium was visited by Imre Falk."),
    ("Tidal Nights was praised by Hedda Holm.", "Tidal Nights was praised by Imre Falk."),
    ("Tidal Nights was reviewed by Hedda Holm.", "Tidal Nights was reviewed by Imre Falk."),
    ("The Orla Bridge is used by cyclists.", "The Orla Bridge is used by buses."),
    ("Sarnish is spoken in Gildern.", "Sarnish is spoken in Lorne."),
    ("Emberly Phones are sold in Gildern.", "Emberly Phones are sold in Lorne."),
    ("Noor is interested in rowing.", "Noor is interested in chess."),
    ("Noor is mentioned in Tidal Nights.", "Noor is mentioned in Harbour Lights."),
    ("Noor starred in Tidal Nights.", "Noor starred in Harbour Lights."),
    ("Noor wrote Tidal Nights.", "Noor wrote Harbour Lights."),
    ("Noor's novel is Tidal Nights.", "Noor's novel is Harbour Lights."),
    ("Noor has a degree in physics.", "Noor has a degree in law."),
    ("Noor won the Lorne Trophy.", "Noor won the Kelsby Medal."),
    ("Noor is known for her voice.", "Noor is known for her patience."),
    ("Noor is friends with Paavo.", "Noor is friends with Oona."),
    ("Noor is related to Paavo.", "Noor is related to Oona."),
    ("Noor is a graduate of Farrow University.", "Noor is a graduate of Lorne College."),
    ("Noor is a member of the Union Party.", "Noor is a member of the Kelsby Society."),
    ("Noor is a supporter of the Lions.", "Noor is a supporter of the Hawks."),
    ("Noor is proud of Paavo.", "Noor is proud of Oona."),
    ("Noor is afraid of spiders.", "Noor is afraid of heights."),
    ("Noor is tired of meetings.", "Noor is tired of noise."),
    ("Noor is good at chess.", "Noor is good at drawing."),
    ("Noor is angry with Paavo.", "Noor is angry with Oona."),
    ("Noor talks to Paavo.", "Noor talks to Oona."),
    ("Noor listens to jazz.", "Noor listens to folk."),
    ("Noor travelled to Lorne.", "Noor travelled to Kelsby."),
    ("Noor works with Paavo.", "Noor works with Oona."),
    ("Noor plays with Paavo.", "Noor plays with Oona."),
    ("Noor is here for Paavo.", "Noor is here for Oona."),
    ("Gildern borders Lorne.", "Gildern borders Kelsby."),
    ("Gildern is bordered by Lorne.", "Gildern is bordered by Kelsby."),
    ("Gildern is famous for cheese.", "Gildern is famous for wine."),
    ("Gildern exports wool.", "Gildern exports timber."),
    ("A museum in Gildern is the Wend Gallery.", "A museum in Gildern is the Orla House."),
    ("One of the rivers of Gildern is the Wend.", "One of the rivers of Gildern is the Orla."),
    ("The advantage of trains is comfort.", "The advantage of trains is safety."),
    ("The trouble with Gildern is the rain.", "The trouble with Gildern is the wind."),
    ("The weather in Gildern is mild.", "The weather in Gildern is wet."),
    ("The Heliotrope team is happy.", "The Heliotrope team is small."),
    ("The Heliotrope service is written in Rust.", "The Heliotrope service is monitored by Liva."),
    ("The Heliotrope service depends on Postgres.", "The Heliotrope service depends on Redis."),
    ("The Heliotrope service is tested on Debian 11.", "The Heliotrope service is tested on Debian 12."),
    ("The Heliotrope service runs on Debian 12.", "The Garnet service runs on Debian 11."),
    ("Xenia is invited to the Lorne dinner.", "Xenia is invited to the Kelsby dinner."),
    ("Xenia was invited to Lorne.", "Xenia was invited to Kelsby."),
    ("Xenia was promoted in 2019.", "Xenia was promoted in 2022."),
    ("Xenia was seen in Lorne.", "Xenia was seen in Kelsby."),
    ("Xenia was elected in 2012.", "Xenia was elected in 2016."),
    ("Xenia's cousin is Paavo.", "Xenia's cousin is Oona."),
    ("Xenia's student is Paavo.", "Xenia's student is Oona."),
    ("Xenia's idea is simple.", "Xenia's idea is new."),
    ("My flight is at 9:10.", "My flight is in May."),
    ("My brother is called Paavo.", "My brother is called Oskar."),
    ("The red bicycle is Noor's.", "The red bicycle is fast."),
    ("The train to Lorne leaves at 9:10.", "The train to Kelsby leaves at 11:45."),
    ("A ticket to Lorne costs 14 euros.", "A ticket to Kelsby costs 17 euros."),
    ("Zita's left knee is sore.", "Zita's left knee is swollen."),
    ("Zita takes 20 mg of atorvastatin.", "Zita takes 40 mg of lisinopril."),
    ("Zita went to Kelsby High School.", "Zita went to Lorne Academy."),
    ("Zita is going to Kelsby.", "Zita is going to Lorne."),
    ("Zita comes from Kelsby.", "Zita comes from a family of bakers."),
    ("Zita lives in Kelsby.", "Zita is visiting Lorne."),
    ("Zita's birthday is 3 May.", "Zita's birthday party is on 17 May."),
    ("Zita's sister lives in Kelsby.", "Zita's brother lives in Lorne."),
    ("Zita teaches at Farrow University.", "Zita teaches chemistry."),
    ("The capital of Gildern is Lorne.", "The capital of Gildern is beautiful."),
    (
        "The director of Tidal Nights is Noor Dahl.",
        "The director of photography of Tidal Nights is Oona Pohl.",
    ),
    ("The team is based in Kelsby.", "The team is based in Lorne."),
    ("The party is on Friday.", "The party is on Saturday."),
    ("Silver Orchard was quoted by Mirko Sand.", "Silver Orchard was quoted by Pia Lohr."),
    ("Silver Orchard was translated into Greek.", "Silver Orchard was translated into Welsh."),
    ("Silver Orchard is available in Greek.", "Silver Orchard is available in Welsh."),
    ("Silver Orchard is recommended by Jana.", "Silver Orchard is recommended by Emil."),
    ("Silver Orchard was banned in Ondria.", "Silver Orchard was banned in Tarn."),
    ("Silver Orchard is popular in Ondria.", "Silver Orchard is popular in Tarn."),
    ("Lumo is trusted by Vetrix.", "Lumo is trusted by Halden."),
    ("Lumo was sued by Vetrix.", "Lumo was sued by Halden."),
    ("Lumo is active in Ondria.", "Lumo is active in Tarn."),
    ("Lumo hired Jana.", "Lumo hired Emil."),
    ("Lumo operates in Ondria.", "Lumo operates in Tarn."),
    ("Lumo has a branch in Welby.", "Lumo has a branch in Ostrow."),
    ("Lumo's product is Marten.", "Lumo's product is Zephyr."),
    ("Lumo's customer is Vetrix.", "Lumo's customer is Halden."),
    ("Ines Kade appeared in Silver Orchard.", "Ines Kade appeared in Tin Summer."),
    ("Ines Kade was nominated for the Tarn Prize.", "Ines Kade was nominated for the Ell Prize."),
    ("Ines Kade was awarded the Tarn Prize.", "Ines Kade was awarded the Ell Prize."),
    ("Ines Kade is fluent in Greek.", "Ines Kade is fluent in Welsh."),
    ("Ines Kade is experienced in welding.", "Ines Kade is experienced in carpentry."),
    ("Ines Kade is a fan of the Foxes.", "Ines Kade is a fan of the Otters."),
    ("Ines Kade is a student of Rolf Tamm.", "Ines Kade is a student of Pia Lohr."),
    ("Ines Kade is inspired by Rolf Tamm.", "Ines Kade is inspired by Pia Lohr."),
    ("Ines Kade was influenced by Rolf Tamm.", "Ines Kade was influenced by Pia Lohr."),
    ("Ines Kade was photographed by Rolf Tamm.", "Ines Kade was photographed by Pia Lohr."),
    ("Ines Kade performed in Welby.", "Ines Kade performed in Ostrow."),
    ("Ines Kade's album is Low Tide.", "Ines Kade's album is High Wire."),
    ("Ines Kade's rival is Pia Lohr.", "Ines Kade's rival is Jana Roos."),
    ("Emil writes to Jana.", "Emil writes to Pia."),
    ("Emil cares for Jana.", "Emil cares for Pia."),
    ("Emil runs in Welby.", "Emil runs in June."),
    ("Emil is looking for Jana.", "Emil is looking for Pia."),
    ("Emil is waiting for Jana.", "Emil is waiting for Pia."),
    ("Emil is meeting Jana in Welby.", "Emil is meeting Pia in Ostrow."),
    ("Emil's habit is tea.", "Emil's habit is walking."),
    ("Emil's worry is money.", "Emil's worry is health."),
    ("Emil's visit is on Tuesday.", "Emil's visit is short."),
    ("Emil's lunch was with Jana.", "Emil's lunch was with Pia."),
    ("Emil pays 840 euros in rent.", "Emil pays 90 euros in taxes."),
    ("The lumo-api cluster has 3 nodes.", "The lumo-api cluster has 12 pods."),
    ("lumo-api is called by checkout.", "lumo-api is called by billing."),
    ("lumo-api is compatible with Postgres 15.", "lumo-api is compatible with Postgres 16."),
    ("The Tarn Gazette is read in Welby.", "The Tarn Gazette is read in Ostrow."),
    ("The next stop is Welby.", "The next stop is Ostrow."),
    ("The winner of the race in 2019 is Jana.", "The winner of the race in 2021 is Emil."),
    ("The winner is Jana.", "The winner is Emil."),
    ("A friend of Emil is Jana.", "A friend of Emil is Pia."),
    ("My appointment is on Tuesday.", "My appointment is on Thursday."),
    ("My colleague is Jana.", "My colleague is Emil."),
    ("My plant is a fern.", "My plant is a cactus."),
    ("My back hurts.", "My knee hurts."),
]
"""Two statements that look alike."""


@dataclass
class RelationResult:
    """How many changed pairs were stored, those without a mark that recall shows, and wrong marks."""

    changed_count: int = len(CHANGED)
    both_hold_count: int = len(BOTH_HOLD)
    missed: list[tuple[str, str]] = field(default_factory=list)
    superseded: list[tuple[str, str]] = field(default_factory=list)

    @property
    def unseen_missed_count(self) -> int:
        """How many of the changed pairs that were not in view were missed."""
        unseen = CHANGED[SEEN_CHANGED:]
        return sum(pair in unseen for pair in self.missed)


async def measure_relations(memory: AsyncMemory) -> RelationResult:
    """Store each pair, have it compared, and see whether the older statement is marked as outdated."""
    result = RelationResult()
    for number, pair in enumerate(CHANGED):
        if not await _is_marked(memory, f"changed-{number}", pair):
            result.missed.append(pair)
    for number, pair in enumerate(BOTH_HOLD):
        if await _is_marked(memory, f"both-{number}", pair):
            result.superseded.append(pair)
    return result


async def _is_marked(memory: AsyncMemory, owner: str, pair: tuple[str, str]) -> bool:
    times = (FIRST_AT, FIRST_AT + LATER)
    items = [{"content": text, "at": at} for text, at in zip(pair, times, strict=True)]
    await memory.retain_many(items, owner=owner)
    return any(mark.certainty >= SHOWN_CERTAINTY for mark in await compare_all(memory, owner, len(items)))
