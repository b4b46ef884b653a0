---------------------------- MODULE pull_leases ----------------------------
(***************************************************************************)
(* Deliveries of a pull endpoint: a lease is a due time on the queue row.  *)
(* Any node takes the result, and it counts once. `code:` names what an    *)
(* action stands for. model/README.md has the guards.                        *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS
  Nodes, Consumers, \* model values
  Tries,            \* attempts of the delivery
  Deaths,           \* how often a node is killed
  Losses,           \* answers that are lost, of a node to its consumer
  Lapses,           \* how often a lease or a preparation ends without a result
  \* The guards. Each of them, the other way, breaks a property.
  FENCES_RESULTS, FENCES_HAND_OUT, ATTEMPT_IN_LEASE, UNTRIED_IF_NOT_GIVEN, ANY_NODE_LAPSES

VARIABLES
  row,      \* lane: waiting, preparing, leased, none; isDue: the lease or the preparation has ended; node: who records that
  status,   \* of the delivery
  work,     \* rows that nodes prepare for consumers
  held,     \* leases that consumers have: the fence, the id of the attempt
  attempts, \* recorded attempts that count: the lease they are about
  dead, given, odd, left

vars == <<row, status, work, held, attempts, dead, given, odd, left>>
Symmetry == Permutations(Nodes) \cup Permutations(Consumers)
None == "none"
Ended == {"Success", "Failure"}
Lives(n) == n \notin dead

Init ==
  /\ row = [lane |-> "waiting", fence |-> 1, isDue |-> TRUE, pulled |-> FALSE, node |-> None, by |-> None]
  /\ status = "open"
  /\ work = {} /\ held = {} /\ attempts = {} /\ dead = {} /\ odd = {}
  /\ given = 0
  /\ left = [deaths |-> Deaths, losses |-> Losses, lapses |-> Lapses]

Take(n, c) == \* code: src/store/queue/pull-deliveries.ts takeForConsumer
  /\ Lives(n) /\ row.lane = "waiting" /\ row.node = None
  /\ row' = [row EXCEPT !.lane = "preparing", !.fence = @ + 1, !.isDue = FALSE, !.pulled = FALSE, !.by = n]
  /\ work' = work \cup {[node |-> n, consumer |-> c, fence |-> row.fence + 1]}
  /\ UNCHANGED <<status, held, attempts, dead, given, odd, left>>

IsHandable(f) == row.lane \in {"preparing", "leased"} /\ row.node = None /\ (FENCES_HAND_OUT => row.fence = f /\ ~row.isDue)

\* The lease begins, and the answer reaches the consumer, or is lost.
HandOut(w, isLost) == \* code: src/store/queue/pull-deliveries.ts handOutDeliveries; src/engine/pull/pull-queue.ts #handOut
  /\ Lives(w.node) /\ work' = work \ {w}
  /\ (isLost => left.losses > 0 /\ left' = [left EXCEPT !.losses = @ - 1]) /\ (~isLost => UNCHANGED left)
  /\ IF IsHandable(w.fence)
     THEN /\ row' = [row EXCEPT !.lane = "leased", !.isDue = FALSE, !.pulled = TRUE]
          /\ held' = IF isLost THEN held ELSE held \cup {[consumer |-> w.consumer, fence |-> w.fence, did |-> FALSE]}
          /\ given' = given + 1
          /\ odd' = odd \cup (IF row.fence = w.fence THEN {} ELSE {"no lease"})
     ELSE UNCHANGED <<row, held, given, odd>>
  /\ UNCHANGED <<status, attempts, dead>>

PutBack(w) == \* code: src/store/queue/pull-deliveries.ts putBackDeliveries
  /\ Lives(w.node) /\ work' = work \ {w}
  /\ left.lapses > 0 /\ left' = [left EXCEPT !.lapses = @ - 1]
  /\ row' = IF row.lane = "preparing" /\ row.fence = w.fence /\ row.node = None /\ ~row.isDue
            THEN [row EXCEPT !.lane = "waiting", !.fence = @ + 1, !.isDue = TRUE] ELSE row
  /\ UNCHANGED <<status, held, attempts, dead, given, odd>>

\* An attempt is recorded. The lease names its id, so that a result which comes again is known.
Attempt(f, id, isOk) ==
  /\ attempts' = attempts \cup {[lease |-> f, id |-> id]}
  /\ status' = IF isOk THEN "Success" ELSE IF Cardinality(attempts) + 1 >= Tries THEN "Failure" ELSE "open"
  /\ row' = IF status' \in Ended
            THEN [row EXCEPT !.lane = "none", !.node = None, !.isDue = FALSE]
            ELSE [row EXCEPT !.lane = "waiting", !.node = None, !.isDue = TRUE, !.fence = @ + 1, !.pulled = FALSE]

\* By any node; the answer may be lost, and then the consumer reports again.
Report(h, isOk, isLost) == \* code: src/engine/pull/pull-results.ts PullResults; src/store/queue/finish-deliveries.ts finishDeliveries; src/store/queue/queue-rows.ts LEASED_BY_CONSUMER; src/engine/pull/lease-token.ts readLease
  LET isLeased == row.lane = "leased" /\ row.node = None /\ (FENCES_RESULTS => row.fence = h.fence /\ ~row.isDue)
      isAgain == \E a \in attempts : a.lease = h.fence
      id == IF ATTEMPT_IN_LEASE THEN 0 ELSE Cardinality(attempts) + 1
  IN  /\ (isLost => left.losses > 0 /\ left' = [left EXCEPT !.losses = @ - 1]) /\ (~isLost => UNCHANGED left)
      /\ held' = (held \ {h}) \cup (IF isLost THEN {[h EXCEPT !.did = TRUE]} ELSE {})
      /\ IF isLeased
         THEN Attempt(h.fence, id, isOk) /\ odd' = odd \cup (IF row.fence = h.fence THEN {} ELSE {"old lease"})
         ELSE /\ UNCHANGED <<row, status, odd>>
              \* stored under the id of the lease: the same attempt again, or a stale one
              /\ attempts' = IF ~ATTEMPT_IN_LEASE /\ isAgain THEN attempts \cup {[lease |-> h.fence, id |-> id]} ELSE attempts
      /\ UNCHANGED <<work, dead, given>>

TimeIsOver ==
  /\ left.lapses > 0 /\ left' = [left EXCEPT !.lapses = @ - 1]
  /\ row.lane \in {"preparing", "leased"} /\ row.node = None /\ ~row.isDue
  /\ row' = [row EXCEPT !.isDue = TRUE]
  /\ UNCHANGED <<status, work, held, attempts, dead, given, odd>>

ClaimLapsed(n) == \* code: src/store/queue/claim.ts leaseStatement; src/domain/delivery.ts LANE
  /\ Lives(n) /\ row.lane \in {"preparing", "leased"} /\ row.isDue
  /\ (row.node = None \/ row.node \in dead) \* the rows of a dead node are reaped
  /\ (ANY_NODE_LAPSES \/ row.by = n)
  /\ row' = [row EXCEPT !.node = n, !.fence = @ + 1]
  /\ UNCHANGED <<status, work, held, attempts, dead, given, odd, left>>

FinishLapsed(n) == \* code: src/engine/pull/reported.ts leaseEnded; src/engine/pull/pull-results.ts leaseEnded
  /\ Lives(n) /\ row.node = n
  /\ IF row.pulled \/ ~UNTRIED_IF_NOT_GIVEN
     THEN Attempt(row.fence, 0, FALSE)
     ELSE /\ row' = [row EXCEPT !.lane = "waiting", !.node = None, !.fence = @ + 1, !.isDue = TRUE]
          /\ UNCHANGED <<attempts, status>>
  /\ UNCHANGED <<work, held, dead, given, odd, left>>

Kill(n) ==
  /\ left.deaths > 0 /\ left' = [left EXCEPT !.deaths = @ - 1] /\ Lives(n) /\ Cardinality(dead) + 1 < Cardinality(Nodes)
  /\ dead' = dead \cup {n} /\ work' = {w \in work : w.node # n}
  /\ UNCHANGED <<row, status, held, attempts, given, odd>>

HandedOut(n) == \E w \in work, l \in BOOLEAN : w.node = n /\ HandOut(w, l)
PutsBack(n) == \E w \in work : w.node = n /\ PutBack(w)
Reported(c) == \E h \in held, ok, l \in BOOLEAN : h.consumer = c /\ Report(h, ok, l)

Next ==
  \/ TimeIsOver
  \/ \E n \in Nodes : ClaimLapsed(n) \/ FinishLapsed(n) \/ Kill(n) \/ HandedOut(n) \/ PutsBack(n) \/ \E c \in Consumers : Take(n, c)
  \/ \E c \in Consumers : Reported(c)

\* Consumers come back, and time goes on.
Fair ==
  /\ \A n \in Nodes : WF_vars(ClaimLapsed(n)) /\ WF_vars(FinishLapsed(n)) /\ SF_vars(HandedOut(n)) /\ \A c \in Consumers : SF_vars(Take(n, c))
  /\ \A c \in Consumers : SF_vars(Reported(c))
Waits == row.lane \in {"preparing", "leased"} /\ ~row.isDue /\ row.node = None /\ work = {} /\ held = {} /\ row' = [row EXCEPT !.isDue = TRUE]
         /\ UNCHANGED <<status, work, held, attempts, dead, given, odd, left>>
Spec == Init /\ [][Next \/ Waits]_vars
FairSpec == Spec /\ WF_vars(Waits) /\ Fair

\* A result under an old lease changes no state.
OldLease == "old lease" \notin odd
\* A consumer is given only what the row still has under that fence.
GivenUnderLease == "no lease" \notin odd
\* A lease has one attempt, however often its result comes.
OneAttempt == \A a, b \in attempts : a.lease = b.lease => a = b
\* Only what was given uses a try.
TriesWereGiven == Cardinality({a.lease : a \in attempts}) <= given
\* An open delivery has its row, an ended one has none.
OpenHasRow == (status = "open") <=> (row.lane # "none")
\* It ends, while nodes live and consumers come.
Ends == <>[](status \in Ended)
=============================================================================
