-------------------------------- MODULE move --------------------------------
(***************************************************************************)
(* The move of a project from a source cell to a target cell, while it     *)
(* accepts and sends. A mover may be killed, or be taken for dead, at each *)
(* step; another process settles the move. `code:` names what an action    *)
(* stands for. model/README.md has the guards.                               *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS
  Movers, Deliveries, \* model values
  Moves,              \* how many moves begin
  Kills,              \* how often a mover is killed
  Doubts,             \* how often a living mover is taken for dead
  \* The guards. Each of them, the other way, breaks a property.
  CLOSES, PARKS, PARKS_AGAIN, WAITS_FOR_WRITERS, ONE_COMMIT, DECIDES_ONCE, OWNED_STEPS, ABANDONS_FIRST, REMOVES_AFTER_SWITCH, EPOCHS

VARIABLES
  source, \* of the project: open, draining, closed, moved; epoch; the owner and the state of the move
  target, \* decision of each epoch: none, copying, arrived, abandoned; whether the project is open there
  rows,   \* of each delivery in each cell: none, free, leased, parked, ended
  open,   \* accepts that have read that the project accepts, and have not committed
  copy,   \* what each mover has read in its snapshot and will write
  mover,  \* the step of each mover, and its epoch
  answered, odd, left

vars == <<source, target, rows, open, copy, mover, answered, odd, left>>
Symmetry == Permutations(Movers) \cup Permutations(Deliveries)
None == "none"
Epochs == 1..Moves
E(e) == IF EPOCHS THEN e ELSE 1
Idle == [at |-> "idle", epoch |-> 0]
NoCopy == [d \in Deliveries |-> None]
Held == {"free", "leased", "parked"}

Init ==
  /\ source = [state |-> "open", epoch |-> 0, owner |-> None, step |-> "none"]
  /\ target = [decision |-> [e \in Epochs |-> None], isOpen |-> FALSE]
  /\ rows = [c \in {"source", "target"} |-> [d \in Deliveries |-> None]]
  /\ open = {} /\ answered = {} /\ odd = {}
  /\ copy = [m \in Movers |-> NoCopy]
  /\ mover = [m \in Movers |-> Idle]
  /\ left = [moves |-> Moves, kills |-> Kills, doubts |-> Doubts]

-----------------------------------------------------------------------------
(* What nodes do in a cell.                                                 *)

Takes(c) == IF c = "source" THEN source.state \in {"open", "draining"} \/ (~CLOSES /\ source.state = "closed") ELSE target.isOpen
Sends(c) == IF c = "source" THEN source.state = "open" ELSE target.isOpen

BeginAccept(c, d) == \* code: src/store/queue/accept-events.ts acceptText
  /\ Takes(c) /\ d \notin answered /\ \A o \in open : o.d # d
  /\ open' = open \cup {[c |-> c, d |-> d]}
  /\ UNCHANGED <<source, target, rows, copy, mover, answered, odd, left>>

CommitAccept(o) ==
  /\ open' = open \ {o} /\ answered' = answered \cup {o.d}
  /\ rows' = [rows EXCEPT ![o.c][o.d] = "free"]
  /\ UNCHANGED <<source, target, copy, mover, odd, left>>

\* A node that has not read the config yet claims in a cell that drains or is closed. A parked row is due in a thousand years.
Claim(c, d) == \* code: src/store/queue/claim.ts leaseStatement
  /\ rows[c][d] = "free" /\ (c = "source" \/ target.isOpen)
  /\ rows' = [rows EXCEPT ![c][d] = "leased"]
  /\ odd' = odd \cup (IF \E b \in {"source", "target"} \ {c} : rows[b][d] = "leased" THEN {"both"} ELSE {})
  /\ UNCHANGED <<source, target, open, copy, mover, answered, left>>

Finish(c, d) == \* code: src/store/queue/queue-rows.ts moveQueueRows
  /\ rows[c][d] = "leased" /\ rows' = [rows EXCEPT ![c][d] = "ended"]
  /\ UNCHANGED <<source, target, open, copy, mover, answered, odd, left>>

-----------------------------------------------------------------------------
(* What a mover does. Each step in the source is one transaction under the  *)
(* owner of the move.                                                       *)

Owns(m) == OWNED_STEPS => source.owner = m
Step(m, from, to) == mover[m].at = from /\ mover' = [mover EXCEPT ![m].at = to]

Begin(m) == \* code: src/store/cells/source-moves.ts beginMove; src/store/cells/target-moves.ts expectProject
  /\ left.moves > 0 /\ mover[m] = Idle /\ source.state = "open" /\ source.step \in {"none", "stopped"}
  /\ left' = [left EXCEPT !.moves = @ - 1]
  /\ source' = [source EXCEPT !.owner = m, !.step = "copying"]
  /\ mover' = [mover EXCEPT ![m] = [at |-> "begun", epoch |-> source.epoch + 1]]
  /\ target' = [target EXCEPT !.decision[E(source.epoch + 1)] = IF @ = None \/ ~EPOCHS THEN "copying" ELSE @]
  /\ UNCHANGED <<rows, open, copy, answered, odd>>

Drain(m) == \* code: src/store/cells/source-moves.ts beginDraining
  /\ Step(m, "begun", "draining") /\ Owns(m) /\ source.step = "copying"
  /\ source' = [source EXCEPT !.state = "draining", !.step = "draining"]
  /\ UNCHANGED <<target, rows, open, copy, answered, odd, left>>

Park(r) == IF r \in {"free", "leased"} /\ PARKS THEN "parked" ELSE r

Close(m) == \* code: src/store/cells/source-moves.ts closeProject; src/store/cells/queue-parking.ts parkAll
  /\ Step(m, "draining", "closed") /\ Owns(m) /\ source.step = "draining"
  /\ source' = [source EXCEPT !.state = "closed", !.step = "closed"]
  /\ rows' = [rows EXCEPT !["source"] = [d \in Deliveries |-> Park(@[d])]]
  /\ UNCHANGED <<target, open, copy, answered, odd, left>>

\* Writers that began before the close have ended. The rows that they left are parked too.
ParkAgain(m) == \* code: src/store/cells/source-moves.ts parkLate
  /\ Step(m, "closed", "parked") /\ (WAITS_FOR_WRITERS => ~ \E o \in open : o.c = "source")
  /\ Owns(m) /\ source.step = "closed"
  /\ rows' = IF PARKS_AGAIN THEN [rows EXCEPT !["source"] = [d \in Deliveries |-> Park(@[d])]] ELSE rows
  /\ UNCHANGED <<source, target, open, copy, answered, odd, left>>

Read(m) == \* code: src/cells/move/switch-project.ts copyRest
  /\ Step(m, "parked", "read")
  /\ copy' = [copy EXCEPT ![m] = rows["source"]]
  /\ UNCHANGED <<source, target, rows, open, answered, odd, left>>

Unpark(r) == IF r \in Held THEN "free" ELSE r

\* The last statement of the transaction that writes the rows is the decision. Its commit is the switch.
Arrive(m) == \* code: src/store/cells/target-moves.ts arrive; src/cells/move/switch-project.ts switchProject
  LET e == E(mover[m].epoch)
  IN  /\ Step(m, "read", "arrived") /\ ONE_COMMIT
      /\ (DECIDES_ONCE => target.decision[e] = "copying")
      /\ target' = [target EXCEPT !.decision[e] = "arrived", !.isOpen = TRUE]
      /\ rows' = [rows EXCEPT !["target"] = [d \in Deliveries |-> IF @[d] = None THEN Unpark(copy[m][d]) ELSE @[d]]]
      /\ copy' = [copy EXCEPT ![m] = NoCopy]
      /\ UNCHANGED <<source, open, answered, odd, left>>

\* Without one commit: the decision first, then the rows.
DecideFirst(m) ==
  LET e == E(mover[m].epoch)
  IN  /\ ~ONE_COMMIT /\ Step(m, "read", "deciding") /\ target.decision[e] = "copying"
      /\ target' = [target EXCEPT !.decision[e] = "arrived", !.isOpen = TRUE]
      /\ UNCHANGED <<source, rows, open, copy, answered, odd, left>>
WriteLater(m) ==
  /\ Step(m, "deciding", "arrived")
  /\ rows' = [rows EXCEPT !["target"] = [d \in Deliveries |-> IF @[d] = None THEN Unpark(copy[m][d]) ELSE @[d]]]
  /\ UNCHANGED <<source, target, open, copy, answered, odd, left>>

End(m) == \* code: src/store/cells/source-moves.ts endMove
  /\ Step(m, "arrived", "ended") /\ Owns(m) /\ source.step = "closed"
  /\ source' = [source EXCEPT !.state = "moved", !.epoch = mover[m].epoch, !.step = "done"]
  /\ UNCHANGED <<target, rows, open, copy, answered, odd, left>>

Remove(m) == \* code: src/store/cells/target-moves.ts removeMovedRows
  /\ IF REMOVES_AFTER_SWITCH THEN mover[m].at = "ended" /\ source.state = "moved" ELSE mover[m].at = "read"
  /\ mover' = [mover EXCEPT ![m] = IF REMOVES_AFTER_SWITCH THEN Idle ELSE @]
  /\ rows' = [rows EXCEPT !["source"] = [d \in Deliveries |-> None]]
  /\ UNCHANGED <<source, target, open, copy, answered, odd, left>>

-----------------------------------------------------------------------------
(* A mover is gone, or is taken for dead: another process settles the move. *)

Kill(m) ==
  /\ left.kills > 0 /\ left' = [left EXCEPT !.kills = @ - 1] /\ mover[m] # Idle
  /\ mover' = [mover EXCEPT ![m] = Idle] /\ copy' = [copy EXCEPT ![m] = NoCopy]
  /\ UNCHANGED <<source, target, rows, open, answered, odd>>

IsGone(m) == m = None \/ mover[m].at = "idle" \/ mover[m].epoch <= source.epoch

TakeMove(m) == \* code: src/store/cells/source-moves.ts takeMove; src/cells/move/settle-move.ts settle
  /\ mover[m] = Idle /\ source.owner # m /\ source.step \in {"copying", "draining", "closed"}
  /\ IF IsGone(source.owner) THEN UNCHANGED left
                             ELSE left.doubts > 0 /\ left' = [left EXCEPT !.doubts = @ - 1]
  /\ source' = [source EXCEPT !.owner = m]
  /\ mover' = [mover EXCEPT ![m] = [at |-> IF source.step = "closed" THEN "settling" ELSE "reopening", epoch |-> source.epoch + 1]]
  /\ UNCHANGED <<target, rows, open, copy, answered, odd>>

Abandon(m) == \* code: src/store/cells/target-moves.ts abandon
  LET e == E(mover[m].epoch)
      after == IF target.decision[e] = "arrived" THEN "arrived" ELSE "reopening"
  IN  /\ mover[m].at = "settling" /\ mover' = [mover EXCEPT ![m].at = after]
      /\ target' = IF target.decision[e] # "arrived" /\ ABANDONS_FIRST THEN [target EXCEPT !.decision[e] = "abandoned"] ELSE target
      /\ UNCHANGED <<source, rows, open, copy, answered, odd, left>>

Reopen(m) == \* code: src/store/cells/source-moves.ts reopenProject; src/store/cells/queue-parking.ts unparkAll
  /\ Step(m, "reopening", "idle") /\ Owns(m) /\ source.step \in {"copying", "draining", "closed"}
  /\ source' = [source EXCEPT !.state = "open", !.epoch = mover[m].epoch, !.step = "stopped", !.owner = None]
  /\ rows' = [rows EXCEPT !["source"] = [d \in Deliveries |-> IF @[d] = "parked" THEN "free" ELSE @[d]]]
  /\ UNCHANGED <<target, open, copy, answered, odd, left>>

\* A step that another owner has taken over fails: the mover ends.
LoseMove(m) ==
  /\ mover[m] # Idle /\ source.owner # m /\ mover[m].at # "ended"
  /\ mover' = [mover EXCEPT ![m] = Idle] /\ copy' = [copy EXCEPT ![m] = NoCopy]
  /\ UNCHANGED <<source, target, rows, open, answered, odd, left>>

-----------------------------------------------------------------------------

Committed == \E o \in open : CommitAccept(o)
Works(m) == Drain(m) \/ Close(m) \/ ParkAgain(m) \/ Read(m) \/ Arrive(m) \/ DecideFirst(m) \/ WriteLater(m) \/ End(m) \/ Remove(m) \/ TakeMove(m) \/ Abandon(m) \/ Reopen(m) \/ LoseMove(m)
Next ==
  \/ Committed
  \/ \E c \in {"source", "target"}, d \in Deliveries : BeginAccept(c, d) \/ Claim(c, d) \/ Finish(c, d)
  \/ \E m \in Movers : Begin(m) \/ Works(m) \/ Kill(m)
Spec == Init /\ [][Next]_vars
FairSpec == Spec /\ WF_vars(Committed) /\ \A m \in Movers : WF_vars(Works(m))

\* A project is open in one cell at most.
OneHome == ~(source.state \in {"open", "draining"} /\ target.isOpen)
\* Both cells never hold a delivery.
NeverBoth == "both" \notin odd /\ \A d \in Deliveries : ~(rows["source"][d] \in {"free", "leased"} /\ rows["target"][d] \in {"free", "leased"})
\* What was answered is in the cell that has the project, open or ended.
NothingLost == \A d \in answered : rows[IF target.isOpen THEN "target" ELSE "source"][d] # None
\* A move ends: the project is open in one of the cells.
Settles == []<>((source.state = "open" \/ target.isOpen) /\ source.state # "closed")
=============================================================================
