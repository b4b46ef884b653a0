----------------------------- MODULE deliveries -----------------------------
(***************************************************************************)
(* A delivery from its accept to its end: born leased, claimed, sent,      *)
(* finished under a fence, taken over from a silent node, at most once.    *)
(* `code:` names what an action stands for; test/model/names.test.ts fails *)
(* when one of these names is gone. model/README.md has the guards.          *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS
  Nodes, Deliveries, \* model values
  Tries,             \* attempts of a delivery
  Once,              \* the delivery mode is at most once
  Silences,          \* how often a node is cut off or frozen
  Deaths,            \* how often a node is killed
  Losses,            \* answers of the database that are lost
  Operations,        \* cancels and resends
  \* The guards. Each of them, the other way, breaks a property.
  ANSWERS_AFTER_COMMIT, ROW_WITH_DELIVERY, ONE_COMMIT, CLAIMS_FREE_ROWS, CHECKS, FENCE_GROWS, FENCE_GOES_ON,
  STOPS_WHEN_STALE, GIVES_BACK, JUDGES_AT_ANSWER, FORGETS_COMING, RECONCILES, KEEPS_DOUBT, LEAVES_KNOWN,
  RECONCILES_ALONE, REAPS_AGAIN, MARKS_STARTED, ENDS_STARTED

VARIABLES
  row,      \* the queue: node and fence of each delivery; fence 0: no row; lease: history, the number of its lease
  state,    \* of each delivery, and the attempts that count
  work,     \* what nodes have in hand
  late,     \* statements without an answer that may still run on the server
  node,     \* phase: up, quiet (no beat is confirmed, the lease is fresh), stale (silent), dead
  doubt,    \* rows that a node may lease without knowing it
  answered, \* history: deliveries whose caller got a 2xx
  begun,    \* history: requests of each delivery since it was accepted or resent
  odd,      \* history: what must never happen
  left      \* what may still go wrong

vars == <<row, state, work, late, node, doubt, answered, begun, odd, left>>
Symmetry == Permutations(Nodes) \cup Permutations(Deliveries)

None == "none"
NoRow == [node |-> None, fence |-> 0, started |-> FALSE, lease |-> 0]
Free(r, f) == [node |-> None, fence |-> f, started |-> r.started, lease |-> 0]
Grown(f) == IF FENCE_GROWS THEN f + 1 ELSE f
Ended == {"Success", "Failure", "Discarded"}
Lives(n) == node[n].phase # "dead"
IsFresh(n) == node[n].phase \in {"up", "quiet"}
Knows(n, d) == \E w \in work : w.node = n /\ w.d = d /\ ~(w.at = "coming" /\ w.by = "claim")
Item(n, d, f, by) == [node |-> n, d |-> d, fence |-> f, lease |-> state[d].leases + 1, by |-> by, at |-> "coming", cut |-> FALSE, life |-> state[d].life, started |-> FALSE]
Becomes(w, at) == work' = (work \ {w}) \cup {[w EXCEPT !.at = at]}
Doubts(n, d) == doubt' = [doubt EXCEPT ![n] = @ \cup {d}]
Lose == left.losses > 0 /\ left' = [left EXCEPT !.losses = @ - 1]

Init ==
  /\ row = [d \in Deliveries |-> NoRow]
  /\ state = [d \in Deliveries |-> [status |-> "new", tries |-> 0, life |-> 0, top |-> 0, leases |-> 0]]
  /\ work = {} /\ late = {} /\ answered = {} /\ odd = {}
  /\ node = [n \in Nodes |-> [phase |-> "up", beat |-> None, walked |-> FALSE]]
  /\ doubt = [n \in Nodes |-> {}]
  /\ begun = [d \in Deliveries |-> 0]
  /\ left = [silences |-> Silences, deaths |-> Deaths, losses |-> Losses, operations |-> Operations]

-----------------------------------------------------------------------------
(* What statements do to the tables.                                        *)

Store(s) == \* code: src/store/queue/accept-events.ts acceptText; src/store/queue/queue-rows.ts insertQueueRows
  /\ row' = IF state[s.d].status = "new" \/ (~ROW_WITH_DELIVERY /\ row[s.d].fence = 0)
            THEN [row EXCEPT ![s.d] = [node |-> IF s.leased THEN s.node ELSE None, fence |-> 1, started |-> FALSE,
                                       lease |-> IF s.leased THEN state[s.d].leases + 1 ELSE 0]]
            ELSE row
  /\ state' = IF state[s.d].status = "new" THEN [state EXCEPT ![s.d].status = "open", ![s.d].top = 1, ![s.d].leases = IF s.leased THEN @ + 1 ELSE @]
            ELSE state

Lease(s) == \* code: src/store/queue/claim.ts leaseStatement
  LET f == Grown(row[s.d].fence)
  IN  /\ row' = IF row[s.d].fence > 0 /\ (row[s.d].node = None \/ ~CLAIMS_FREE_ROWS)
                THEN [row EXCEPT ![s.d].node = s.node, ![s.d].fence = f, ![s.d].lease = state[s.d].leases + 1] ELSE row
      /\ state' = [state EXCEPT ![s.d].top = IF f > @ THEN f ELSE @, ![s.d].leases = @ + 1]

IsLeased(w) == \* code: src/store/queue/queue-rows.ts leasedByNode moveQueueRows
  /\ row[w.d].fence > 0
  /\ ("node" \in CHECKS => row[w.d].node = w.node)
  /\ ("fence" \in CHECKS => row[w.d].fence = w.fence)

IsOwn(w) == row[w.d].lease = w.lease

Record(w) == \* code: src/store/queue/finish-deliveries.ts finishText; src/engine/attempt/judge-outcome.ts judgeOutcome
  LET tries == state[w.d].tries + 1
      isEnd == w.at # "bad" \/ Once \/ tries >= Tries
      status == IF w.at = "ok" THEN "Success" ELSE "Failure"
  IN  IF ~IsLeased(w) THEN UNCHANGED <<row, state, odd>>
      ELSE /\ row' = [row EXCEPT ![w.d] = IF isEnd THEN (IF ONE_COMMIT THEN NoRow ELSE @)
                                           ELSE [Free(@, Grown(@.fence)) EXCEPT !.started = FALSE]]
           /\ state' = [state EXCEPT ![w.d].status = IF isEnd THEN status ELSE @, ![w.d].tries = tries,
                                     ![w.d].top = IF isEnd \/ @ > Grown(row[w.d].fence) THEN @ ELSE Grown(row[w.d].fence)]
           /\ odd' = odd \cup (IF IsOwn(w) THEN {} ELSE {"old fence"})
                         \cup (IF state[w.d].status \in Ended THEN {"two ends"} ELSE {})

Run(s) == CASE s.op = "accept" -> Store(s) /\ UNCHANGED odd
            [] s.op = "claim" -> Lease(s) /\ UNCHANGED odd
            [] OTHER -> Record(s.w)

\* A statement whose answer is lost has run, or may still run, or never will.
Lost(s) ==
  \/ Run(s) /\ UNCHANGED late
  \/ late' = late \cup {s} /\ UNCHANGED <<row, state, odd>>

RunLate(s) == Run(s) /\ late' = late \ {s} /\ UNCHANGED <<work, node, doubt, answered, begun, left>>
DropLate(s) == late' = late \ {s} /\ UNCHANGED <<row, state, odd, work, node, doubt, answered, begun, left>>

-----------------------------------------------------------------------------
(* What nodes do.                                                           *)

Accept(n, d, leased) == \* code: src/ingest/store-events.ts EventStore; src/engine/queue/dispatcher.ts reserve
  LET s == [op |-> "accept", node |-> n, d |-> d, leased |-> leased]
  IN  /\ Lives(n) /\ (leased => IsFresh(n))
      /\ (state[d].status = "new" \/ d \in doubt[n]) /\ d \notin answered /\ ~Knows(n, d)
      /\ UNCHANGED <<node, begun>>
      /\ \/ /\ Store(s) \* answered, now or after a lost answer; one that is known is left to the queue
            /\ answered' = answered \cup {d}
            /\ work' = IF leased /\ state[d].status = "new" THEN work \cup {Item(n, d, 1, "accept")} ELSE work
            /\ (IF state[d].status = "new" THEN UNCHANGED doubt ELSE Doubts(n, d))
            /\ UNCHANGED <<late, odd, left>>
         \/ /\ Lose /\ Lost(s) /\ Doubts(n, d) /\ UNCHANGED work
            /\ answered' = IF ANSWERS_AFTER_COMMIT THEN answered ELSE answered \cup {d}

Claim(n, d) == \* code: src/engine/queue/claimer.ts #claim; src/store/queue/claim.ts claimDeliveries
  LET s == [op |-> "claim", node |-> n, d |-> d]
  IN  /\ Lives(n) /\ IsFresh(n)
      /\ row[d].fence > 0 /\ (row[d].node = None \/ (~CLAIMS_FREE_ROWS /\ row[d].node # n))
      /\ ~ \E w \in work : w.node = n /\ w.at = "coming" /\ w.by = "claim"
      /\ UNCHANGED <<node, answered, begun, odd>>
      /\ \/ /\ Lease(s)
            /\ work' = work \cup {[Item(n, d, Grown(row[d].fence), "claim") EXCEPT !.started = row[d].started]}
            /\ UNCHANGED <<late, doubt, left>>
         \/ Lose /\ Lost(s) /\ Doubts(n, d) /\ UNCHANGED work

\* The answer of an accept or a claim arrives. Without a place, or after a silence, the row is in doubt.
Start(w) == \* code: src/engine/queue/claimer.ts #take; src/engine/queue/dispatcher.ts start reserveClaimed
  LET isTwice == \E v \in work : v # w /\ v.node = w.node /\ v.d = w.d
  IN  /\ w.at = "coming" /\ Lives(w.node)
      /\ IF isTwice \/ (FORGETS_COMING /\ w.cut)
         THEN work' = work \ {w} /\ Doubts(w.node, w.d)
         ELSE Becomes(w, IF w.started /\ ENDS_STARTED THEN "interrupted" ELSE "unsent") /\ UNCHANGED doubt
      /\ UNCHANGED <<row, state, late, node, answered, begun, odd, left>>

Mark(w) == \* code: src/store/queue/release-rows.ts markStarted
  /\ Once /\ MARKS_STARTED /\ w.at = "unsent" /\ IsFresh(w.node)
  /\ IF IsLeased(w) THEN Becomes(w, "marked") /\ row' = [row EXCEPT ![w.d].started = TRUE] /\ UNCHANGED doubt
                    ELSE work' = work \ {w} /\ UNCHANGED row /\ Doubts(w.node, w.d)
  /\ UNCHANGED <<state, late, node, answered, begun, odd, left>>

Send(w) == \* code: src/engine/queue/lease.ts isFresh; src/engine/attempt/delivery-sender.ts maySend #attempt
  /\ Lives(w.node)
  /\ IF Once /\ MARKS_STARTED THEN w.at = "marked" ELSE w.at = "unsent" /\ (STOPS_WHEN_STALE => IsFresh(w.node))
  /\ Becomes(w, "flying")
  /\ begun' = [begun EXCEPT ![w.d] = IF w.life = state[w.d].life THEN @ + 1 ELSE @]
  /\ odd' = odd \cup (IF Once \/ IsOwn(w) \/ w.life # state[w.d].life \/ state[w.d].status = "Discarded" THEN {} ELSE {"no lease"})
                \cup (IF \E v \in work : v # w /\ v.d = w.d /\ v.life = w.life /\ v.at \in {"flying", "ok", "bad"} /\ ~v.cut
                      THEN {"needless repeat"} ELSE {})
  /\ UNCHANGED <<row, state, late, node, doubt, answered, left>>

Arrive(w, at) == \* code: src/dispatch/client/http-client.ts HttpClient
  /\ w.at = "flying" /\ Becomes(w, at)
  /\ UNCHANGED <<row, state, late, node, doubt, answered, begun, odd, left>>

Finish(w) == \* code: src/engine/queue/finisher.ts Finisher; src/engine/queue/dispatcher.ts #record
  /\ w.at \in {"ok", "bad", "interrupted"} /\ Lives(w.node)
  /\ UNCHANGED <<node, answered, begun>>
  /\ \/ /\ Record(w) /\ work' = work \ {w}
        /\ (IF IsLeased(w) THEN UNCHANGED doubt ELSE Doubts(w.node, w.d))
        /\ UNCHANGED <<late, left>>
     \/ /\ Lose /\ Lost([op |-> "finish", node |-> w.node, d |-> w.d, w |-> w]) \* and is sent again
        /\ work' = (work \ {w}) \cup {[w EXCEPT !.cut = TRUE]} /\ UNCHANGED doubt

\* The second commit of a finish, where there are two.
RemoveRow(d) ==
  /\ ~ONE_COMMIT /\ state[d].status \in Ended /\ row[d].fence > 0 /\ row[d].node # None /\ Lives(row[d].node)
  /\ row' = [row EXCEPT ![d] = NoRow]
  /\ UNCHANGED <<state, work, late, node, doubt, answered, begun, odd, left>>

Reconcile(n, d) == \* code: src/engine/queue/doubts.ts Doubts #releaseUnknown; src/store/queue/release-rows.ts releaseRows
  /\ RECONCILES /\ Lives(n) /\ IsFresh(n) /\ d \in doubt[n]
  /\ (RECONCILES_ALONE => ~ \E w \in work : w.node = n /\ w.at = "coming" /\ w.by = "claim")
  /\ row' = IF row[d].node = n /\ (LEAVES_KNOWN => ~Knows(n, d)) THEN [row EXCEPT ![d] = Free(@, Grown(@.fence))] ELSE row
  /\ doubt' = IF KEEPS_DOUBT /\ \E s \in late : s.node = n /\ s.d = d THEN doubt ELSE [doubt EXCEPT ![n] = @ \ {d}]
  /\ state' = [state EXCEPT ![d].top = IF row'[d].fence > @ THEN row'[d].fence ELSE @]
  /\ UNCHANGED <<work, late, node, answered, begun, odd, left>>

-----------------------------------------------------------------------------
(* What befalls nodes.                                                      *)

Cut(n) == work' = {IF w.node = n THEN [w EXCEPT !.cut = TRUE] ELSE w : w \in work}

Silence(n) ==
  /\ left.silences > 0 /\ node[n].phase = "up"
  /\ node' = [node EXCEPT ![n].phase = "quiet"] /\ left' = [left EXCEPT !.silences = @ - 1]
  /\ UNCHANGED <<row, state, work, late, doubt, answered, begun, odd>>

\* code: src/store/database/node-lease.ts FRESH_SECONDS SILENT_SECONDS
GoStale(n) ==
  /\ node[n].phase = "quiet" /\ node' = [node EXCEPT ![n].phase = "stale"] /\ Cut(n)
  /\ UNCHANGED <<row, state, late, doubt, answered, begun, odd, left>>

SendBeat(n) == \* code: src/store/queue/nodes.ts beat
  /\ node[n].phase \in {"quiet", "stale"} /\ node[n].beat = None
  /\ node' = [node EXCEPT ![n].beat = node[n].phase]
  /\ UNCHANGED <<row, state, work, late, doubt, answered, begun, odd, left>>

Confirm(n) == \* code: src/engine/queue/heartbeat.ts #beat #giveBack; src/engine/queue/dispatcher.ts forgetUnsent
  LET wasSilent == IF JUDGES_AT_ANSWER THEN node[n].phase = "stale" ELSE node[n].beat = "stale"
      mine == {w \in work : w.node = n /\ w.at = "unsent"}
  IN  /\ node[n].beat # None /\ Lives(n)
      /\ node' = [node EXCEPT ![n] = [phase |-> "up", beat |-> None, walked |-> FALSE]]
      /\ IF wasSilent /\ GIVES_BACK
         THEN work' = work \ mine /\ doubt' = [doubt EXCEPT ![n] = @ \cup {w.d : w \in mine}]
         ELSE UNCHANGED <<work, doubt>>
      /\ UNCHANGED <<row, state, late, answered, begun, odd, left>>

Kill(n) ==
  /\ left.deaths > 0 /\ Lives(n) /\ \E m \in Nodes \ {n} : Lives(m)
  /\ node' = [node EXCEPT ![n].phase = "dead"] /\ left' = [left EXCEPT !.deaths = @ - 1]
  /\ Cut(n) /\ doubt' = [doubt EXCEPT ![n] = {}]
  /\ UNCHANGED <<row, state, late, answered, begun, odd>>

Reap(d) == \* code: src/store/queue/nodes.ts freeInPages; src/engine/queue/reaper.ts #walk
  LET n == row[d].node
  IN  /\ n # None /\ node[n].phase \in {"stale", "dead"} /\ (REAPS_AGAIN \/ ~node[n].walked)
      /\ \E m \in Nodes : node[m].phase = "up"
      /\ row' = [row EXCEPT ![d] = Free(@, Grown(@.fence))]
      /\ state' = [state EXCEPT ![d].top = IF Grown(row[d].fence) > @ THEN Grown(row[d].fence) ELSE @]
      /\ node' = [node EXCEPT ![n].walked = TRUE]
      /\ UNCHANGED <<work, late, doubt, answered, begun, odd, left>>

Cancel(d) == \* code: src/store/queue/resend-deliveries.ts endOpenDeliveries
  /\ left.operations > 0 /\ left' = [left EXCEPT !.operations = @ - 1]
  /\ state[d].status = "open" /\ d \in answered
  /\ row' = [row EXCEPT ![d] = NoRow] /\ state' = [state EXCEPT ![d].status = "Discarded"]
  /\ UNCHANGED <<work, late, node, doubt, answered, begun, odd>>

Resend(d) == \* code: src/store/queue/resend-deliveries.ts reopenDeliveries
  LET f == IF FENCE_GOES_ON THEN state[d].top + 1 ELSE 1
  IN  /\ left.operations > 0 /\ left' = [left EXCEPT !.operations = @ - 1]
      /\ state[d].status \in Ended /\ row[d].fence = 0
      /\ row' = [row EXCEPT ![d] = [NoRow EXCEPT !.fence = f]]
      /\ state' = [state EXCEPT ![d] = [status |-> "open", tries |-> 0, life |-> @.life + 1, top |-> IF f > @.top THEN f ELSE @.top,
                                        leases |-> @.leases]]
      /\ begun' = [begun EXCEPT ![d] = 0]
      /\ UNCHANGED <<work, late, node, doubt, answered, odd>>

-----------------------------------------------------------------------------

Mine(n) == {w \in work : w.node = n}
Started(n) == \E w \in Mine(n) : Start(w)
Marked(n) == \E w \in Mine(n) : Mark(w)
Sent(n) == \E w \in Mine(n) : Send(w)
Arrived(n) == \E w \in Mine(n), at \in {"ok", "bad"} : Arrive(w, at)
Finished(n) == \E w \in Mine(n) : Finish(w)
Works(n) == Started(n) \/ Marked(n) \/ Sent(n) \/ Arrived(n) \/ Finished(n)
LateRuns == \E s \in late : RunLate(s)
LateIsGone == \E s \in late : DropLate(s)

Progress ==
  \/ LateRuns \/ LateIsGone
  \/ \E d \in Deliveries : Reap(d) \/ RemoveRow(d) \/ \E n \in Nodes : Claim(n, d) \/ Reconcile(n, d)
  \/ \E n \in Nodes : Works(n) \/ SendBeat(n) \/ Confirm(n)

Chance ==
  \/ \E n \in Nodes : Silence(n) \/ GoStale(n) \/ Kill(n) \/ \E d \in Deliveries, l \in BOOLEAN : Accept(n, d, l)
  \/ \E d \in Deliveries : Cancel(d) \/ Resend(d)

Next == Progress \/ Chance
\* Nodes go on, and each row has its turn.
Fair ==
  /\ \A d \in Deliveries : WF_vars(Reap(d)) /\ WF_vars(RemoveRow(d)) /\ \A n \in Nodes : WF_vars(Reconcile(n, d)) /\ SF_vars(Claim(n, d))
  /\ WF_vars(LateRuns \/ LateIsGone)
  /\ \A n \in Nodes : WF_vars(SendBeat(n)) /\ WF_vars(Confirm(n)) /\ WF_vars(Works(n))
Spec == Init /\ [][Next]_vars
FairSpec == Spec /\ Fair

\* What was answered is stored.
Durable == \A d \in answered : state[d].status # "new"
\* An open delivery has a queue row, and only an open one.
OpenHasRow == \A d \in Deliveries : (state[d].status = "open") <=> (row[d].fence > 0)
\* A finish under an old fence changes no state.
OldFence == "old fence" \notin odd
OneEnd == "two ends" \notin odd
\* A request begins only under the lease of its row.
UnderLease == "no lease" \notin odd
\* It is sent while an earlier request is not recorded only if the node of that one was silent or killed.
NoNeedlessRepeat == "needless repeat" \notin odd
AtMostOnce == Once => \A d \in Deliveries : begun[d] <= 1
\* What is answered ends, while one node lives.
Ends == \A d \in Deliveries : [](d \in answered /\ state[d].status = "open" => <>(state[d].status \in Ended))
=============================================================================
