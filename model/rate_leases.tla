---------------------------- MODULE rate_leases ----------------------------
(***************************************************************************)
(* A rate limit over several nodes: at most Limit requests begin in any    *)
(* Window, whatever node counts them. Time is in steps. `code:` names what *)
(* an action stands for. model/README.md has the guards.                     *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, Sequences, TLC

CONSTANTS
  Nodes,    \* model values
  Limit, Window,
  Fresh,    \* a node sends only if its last confirmed beat is younger
  Silent,   \* others take its lease after this silence
  Slack,    \* added to each window
  Lag,      \* how late a beat may reach the database, and its answer the node
  Drift,    \* how far an age that a node measures may be from the true one
  Horizon,  \* the last moment
  Cuts,     \* how often a node is cut off, frozen or killed
  Stops,    \* how often a node stops in order
  \* The guards. Each of them, the other way, breaks Exact.
  ONE_HOLDER, CHECKS_FRESH, FRESH_FROM_SENT, LAPSES, CHECKS_EPOCH, WAITS_A_WINDOW, QUIET_AFTER_FRESH, PASSES_SENDS,
  COUNTS_LAST, HAS_SLACK

None == "none"
VARIABLES
  now,
  lease,  \* the row: node, epoch, since when no send began, the sends known from earlier holders (or "unknown")
  beat,   \* the last beat of each node in the database
  node,   \* what a node knows: its last confirmed beat, its group, whether it is cut off
  sent,   \* history: when requests began, as far as they can matter
  left

vars == <<now, lease, beat, node, sent, left>>
Symmetry == Permutations(Nodes)
NoGroup == [epoch |-> 0, times |-> {}, from |-> 0]
Apart == Window + (IF HAS_SLACK THEN Slack ELSE 0)

Init ==
  /\ now = 0
  /\ lease = [node |-> None, epoch |-> 0, quiet |-> 0, sends |-> {}, unknown |-> FALSE]
  /\ beat = [n \in Nodes |-> 0]
  /\ node = [n \in Nodes |-> [beat |-> 0, group |-> NoGroup, lapsed |-> NoGroup, isCut |-> FALSE, counted |-> FALSE]]
  /\ sent = {}
  /\ left = [cuts |-> Cuts, stops |-> Stops]

Age(t) == now - t
IsFresh(n) == Age(node[n].beat) < Fresh

Tick ==
  /\ now < Horizon /\ now' = now + 1
  /\ sent' = {s \in sent : now + 1 - s.at <= Window + 1} \* others can be in no window with a new one
  /\ UNCHANGED <<lease, beat, node, left>>

\* The beat reaches the database now. The node counts from when it was sent, `lag` ago.
Beat(n, lag) == \* code: src/engine/queue/heartbeat.ts #beat; src/engine/queue/lease.ts confirmed; src/engine/limits/rate-leases.ts suspend
  LET at == IF FRESH_FROM_SENT THEN (IF lag > now THEN 0 ELSE now - lag) ELSE now + lag
  IN  /\ ~node[n].isCut /\ beat[n] < now
      /\ beat' = [beat EXCEPT ![n] = now]
      /\ node' = [node EXCEPT ![n].beat = IF at > @ THEN at ELSE @,
                              ![n].group = IF LAPSES /\ ~IsFresh(n) THEN NoGroup ELSE @,
                              ![n].lapsed = IF LAPSES /\ ~IsFresh(n) /\ node[n].group.epoch > 0 THEN node[n].group ELSE @]
      /\ UNCHANGED <<now, lease, sent, left>>

\* What a new holder counts: the sends that it was told of, or a full window from the last that could have begun.
Group(epoch, quiet, sends, unknown) ==
  [epoch |-> epoch, times |-> sends, from |-> IF unknown /\ WAITS_A_WINDOW THEN quiet + Apart ELSE 0]

Take(n) == \* code: src/store/limits/rate-leases.ts takeRateLeases TAKE; src/engine/limits/rate-leases.ts #leased; src/engine/limits/rate-group.ts RateGroup
  LET h == lease.node
      isFree == h = None \/ h = n
      isSilent == h # None /\ Age(beat[h]) >= Silent
      epoch == lease.epoch + (IF h = n THEN 0 ELSE 1)
      quiet == IF isFree THEN lease.quiet ELSE beat[h] + (IF QUIET_AFTER_FRESH THEN Fresh ELSE 0)
      unknown == IF isFree THEN lease.unknown ELSE TRUE
      before == node[n].lapsed
      isSame == before.epoch > 0 /\ (CHECKS_EPOCH => before.epoch = epoch)
  IN  /\ ~node[n].isCut /\ node[n].group.epoch = 0 /\ IsFresh(n)
      /\ (isFree \/ isSilent \/ ~ONE_HOLDER)
      /\ lease' = [lease EXCEPT !.node = n, !.epoch = epoch, !.quiet = quiet, !.unknown = unknown,
                                !.sends = IF isFree THEN @ ELSE {}]
      /\ node' = [node EXCEPT ![n].group = IF isSame THEN before ELSE Group(epoch, quiet, IF isFree THEN lease.sends ELSE {}, unknown),
                              ![n].lapsed = NoGroup]
      /\ UNCHANGED <<now, beat, sent, left>>

\* The next send may start when the send Limit places before it is old enough by this node's clock.
Allows(g) ==
  /\ now >= g.from
  /\ \/ Cardinality(g.times) < Limit
     \/ \E t \in g.times : Cardinality({u \in g.times : u.at > t.at \/ (u.at = t.at /\ u.k > t.k)}) = Limit - 1 /\ Age(t.at) + Drift >= Apart

Next(g) == [at |-> now, k |-> Cardinality({u \in g.times : u.at = now})]
\* Only the latest Limit sends block others.
Add(g) == LET all == g.times \cup {Next(g)}
          IN  {t \in all : Cardinality({u \in all : u.at > t.at \/ (u.at = t.at /\ u.k > t.k)}) < Limit}

Write(n) == sent' = sent \cup {[at |-> now, k |-> Cardinality({s \in sent : s.at = now})]}

\* Counted in the turn of the event loop that writes the first byte.
Send(n) == \* code: src/engine/attempt/delivery-turn.ts take #isOurs; src/engine/limits/rate-group.ts take; src/domain/config/rate-limit.ts SendWindow slackMs
  LET g == node[n].group
  IN  /\ COUNTS_LAST /\ g.epoch > 0 /\ (CHECKS_FRESH => IsFresh(n)) /\ Allows(g)
      /\ node' = [node EXCEPT ![n].group.times = Add(g)]
      /\ Write(n)
      /\ UNCHANGED <<now, lease, beat, left>>

\* Without that guard: counted first, written when the connection is ready.
CountFirst(n) ==
  LET g == node[n].group
  IN  /\ ~COUNTS_LAST /\ g.epoch > 0 /\ IsFresh(n) /\ Allows(g) /\ ~node[n].counted
      /\ node' = [node EXCEPT ![n].group.times = Add(g), ![n].counted = TRUE]
      /\ UNCHANGED <<now, lease, beat, sent, left>>
WriteLater(n) ==
  /\ node[n].counted /\ node' = [node EXCEPT ![n].counted = FALSE] /\ Write(n)
  /\ UNCHANGED <<now, lease, beat, left>>

Return(n) == \* code: src/engine/limits/rate-leases.ts stop; src/store/limits/rate-leases.ts returnRateLeases; src/engine/limits/rate-group.ts sends
  LET g == node[n].group
  IN  /\ left.stops > 0 /\ left' = [left EXCEPT !.stops = @ - 1]
      /\ ~node[n].isCut /\ g.epoch > 0 /\ lease.node = n
      /\ lease' = [lease EXCEPT !.node = None, !.quiet = now, !.unknown = g.from > now,
                                !.sends = IF PASSES_SENDS THEN g.times ELSE {}]
      /\ node' = [node EXCEPT ![n].group = NoGroup, ![n].lapsed = NoGroup]
      /\ UNCHANGED <<now, beat, sent>>

Cut(n) ==
  /\ left.cuts > 0 /\ left' = [left EXCEPT !.cuts = @ - 1] /\ ~node[n].isCut
  /\ node' = [node EXCEPT ![n].isCut = TRUE] /\ UNCHANGED <<now, lease, beat, sent>>
Mend(n) ==
  /\ node[n].isCut /\ node' = [node EXCEPT ![n].isCut = FALSE] /\ UNCHANGED <<now, lease, beat, sent, left>>

Acts(n) == Beat(n, 0) \/ Beat(n, Lag) \/ Take(n) \/ Send(n) \/ CountFirst(n) \/ WriteLater(n) \/ Return(n) \/ Cut(n) \/ Mend(n)
Spec == Init /\ [][Tick \/ \E n \in Nodes : Acts(n)]_vars

\* In any interval of the length of a window at most Limit requests begin.
Exact == \A s \in sent : Cardinality({t \in sent : t.at >= s.at /\ t.at < s.at + Window}) <= Limit
=============================================================================
