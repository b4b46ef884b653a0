------------------------------- MODULE order -------------------------------
(***************************************************************************)
(* Order by key: at the receiver, the first successes of a key come in the *)
(* order in which its deliveries were accepted. README.md says what is     *)
(* modelled, which properties hold, and what breaks them.                  *)
(*                                                                         *)
(* The database is one record, `db`. A transaction begins, locks the rows  *)
(* of its keys one by one, and commits. Between these steps others act.    *)
(* What a node knows and what is on the network is the set `work`.         *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS
  Nodes,           \* model values
  Count,           \* number of deliveries; their accepts begin in the order 1..Count
  TwoKeys,         \* FALSE: all have one key; TRUE: 1 and 4 have key 1, 2 and 3 have key 2
  Splits,          \* a transaction begins, locks and commits in steps of its own; FALSE: in one step
  MaxTx,           \* transactions open at the same time
  MaxBatch,        \* events in one accept
  Tries,           \* attempts of a delivery
  OnFailure,       \* "hold" or "skip"
  AtMostOnce,      \* an interrupted delivery is not sent again
  Delays,          \* an accepted delivery may be one for later
  Silences,        \* how many times a node freezes, is cut off or dies
  Losses,          \* answers that are lost, of the receiver or of the database
  Operations,      \* cancels, expiries, skips and resends
  Allowed,         \* which of them; and whether the rows of unused keys are removed
  \* The protocol. Each of these, set the other way, breaks it.
  LOCKS_KEY,       \* accept and end lock the row of the key
  SORTS_LOCKS,     \* a transaction with several keys locks them in sorted order
  FRESH_SNAPSHOT,  \* the end of a head reads who waits after it got the lock
  FENCED,          \* a finish counts only under the node and fence of the queue row
  FENCE_GOES_ON,   \* a resend gives the new queue row a fence that no request had
  RELEASES_ONCE,   \* a finish looks for its queue row before it releases the next
  PLACES_AT_ACCEPT,\* the deliveries of a large fan-out get their places when it is accepted, not when they are made
  CANCELS_SENDING, \* (FALSE is right) a head that a node is sending can be cancelled
  \* A stricter protocol.
  WAITS_OUT        \* a row of a silent node is freed only when its request cannot arrive any more

ASSUME /\ OnFailure \in {"hold", "skip"}
       /\ Count \in Nat /\ MaxTx \in Nat /\ MaxBatch \in Nat /\ Tries \in Nat

Deliveries == 1..Count
Keys == IF TwoKeys THEN {1, 2} ELSE {1}
KeyOf(d) == IF TwoKeys /\ d % 4 \in {2, 3} THEN 2 ELSE 1
Slots == 1..MaxTx
None == 0
Symmetry == Permutations(Nodes)

VARIABLES
  db,       \* the tables
  tx,       \* open transactions
  lock,     \* which transaction has the row of a key
  work,     \* what nodes have in hand: requests, and outcomes to record
  up,       \* nodes that are not silent
  begun,    \* how many deliveries are in accepts that have begun
  order,    \* history: deliveries in the order in which they got their places
  resent,   \* history: deliveries that were sent again at the end of their key
  seen,     \* history: first successes at the receiver; late: of a request that another node has superseded
  left      \* what may still go wrong

vars == <<db, tx, lock, work, up, begun, order, resent, seen, left>>

NoTx == [op |-> "none"]
NoRow == [lane |-> "none", node |-> None, fence |-> 0]

Init ==
  /\ db = [ key     |-> [k \in Keys |-> [last |-> 0, head |-> None, held |-> FALSE]],
            waiting |-> [k \in Keys |-> {}],
            place   |-> [d \in Deliveries |-> 0],
            row     |-> [d \in Deliveries |-> NoRow],
            status  |-> [d \in Deliveries |-> "new"],
            tries   |-> [d \in Deliveries |-> Tries] ]
  /\ tx = [s \in Slots |-> NoTx]
  /\ lock = [k \in Keys |-> None]
  /\ work = {}
  /\ up = Nodes
  /\ begun = 0
  /\ order = <<>>
  /\ resent = {}
  /\ seen = <<>>
  /\ left = [silences |-> Silences, losses |-> Losses, operations |-> Operations]

Ended(d) == db.status[d] \in {"Success", "Failure", "Discarded"}
IsHeld(d) == db.key[KeyOf(d)].held /\ db.key[KeyOf(d)].head = d
Range(s) == {s[i] : i \in DOMAIN s}

-----------------------------------------------------------------------------
(* What transactions do to the tables. `b` is the state of the tables.      *)

RECURSIVE Sorted(_)
Sorted(S) == IF S = {} THEN <<>>
             ELSE LET k == CHOOSE k \in S : \A l \in S : k <= l IN <<k>> \o Sorted(S \ {k})

RECURSIVE KeysInListOrder(_)
KeysInListOrder(ds) ==
  IF ds = <<>> THEN <<>>
  ELSE LET rest == KeysInListOrder(Tail(ds))
       IN  <<KeyOf(Head(ds))>> \o SelectSeq(rest, LAMBDA k : k # KeyOf(Head(ds)))

KeysOf(ds) == IF SORTS_LOCKS THEN Sorted({KeyOf(d) : d \in Range(ds)}) ELSE KeysInListOrder(ds)

\* The head has ended: the next by place becomes head and claimable. `waiters` is what the transaction read.
Release(b, k, waiters) ==
  LET next == IF waiters = {} THEN None
              ELSE CHOOSE d \in waiters : \A e \in waiters : b.place[d] <= b.place[e]
  IN  IF next = None \/ next \notin b.waiting[k]
      THEN [b EXCEPT !.key[k].head = None, !.key[k].held = FALSE]
      ELSE [b EXCEPT !.key[k].head = next, !.key[k].held = FALSE,
                     !.waiting[k] = @ \ {next},
                     !.row[next].lane = "claimable"]

\* Its place has no meaning any more, unless it holds its key.
Close(b, d, status) ==
  [b EXCEPT !.row[d].lane = "none", !.row[d].node = None, !.status[d] = status, !.tries[d] = Tries,
            !.place[d] = IF status = "Failure" /\ OnFailure = "hold" THEN @ ELSE 0]

\* Gives the next place of its key. `n`: who leases it if it becomes the head. A lease that it had goes on, or ends.
Enter(b, d, n) ==
  LET k == KeyOf(d)
      isHead == b.key[k].head = None
      row == b.row[d]
      isLeased == isHead /\ n # None
  IN  [b EXCEPT !.key[k].last = @ + 1,
                !.place[d] = b.key[k].last + 1,
                !.key[k].head = IF isHead THEN d ELSE @,
                !.waiting[k] = IF isHead THEN @ ELSE @ \cup {d},
                !.status[d] = "open",
                !.row[d] = [lane  |-> IF isHead THEN "claimable" ELSE "waiting",
                            node  |-> IF isLeased THEN n ELSE None,
                            fence |-> IF isLeased = (row.node # None) THEN row.fence ELSE row.fence + 1]]

RECURSIVE EnterAll(_, _, _)
EnterAll(b, ds, n) == IF ds = <<>> THEN b ELSE EnterAll(Enter(b, Head(ds), n), Tail(ds), n)

\* The head as the transaction has read it. Its counter is always right: an update adds to the newest version of the row.
AsRead(t) ==
  [db EXCEPT !.key = [k \in Keys |->
    IF k \in t.keys THEN [db.key[k] EXCEPT !.head = t.read[k].head, !.held = t.read[k].held] ELSE db.key[k]]]

Requeue(b, d, lane) ==
  [b EXCEPT !.row[d] = [lane |-> lane, node |-> None, fence |-> IF FENCE_GOES_ON THEN @.fence ELSE 0],
            !.status[d] = "open", !.tries[d] = Tries]

\* No attempt is left.
Fail(b, d, waiters) ==
  LET closed == Close(b, d, "Failure")
  IN  IF OnFailure = "hold" THEN [closed EXCEPT !.key[KeyOf(d)].held = TRUE] ELSE Release(closed, KeyOf(d), waiters)

-----------------------------------------------------------------------------
(* What each transaction does at its commit.                                *)

\* A node has in hand what was leased for it. If the answer was lost, it gives back what it does not know.
InHand(b, t) ==
  {[d |-> d, node |-> t.node, fence |-> b.row[d].fence, at |-> IF t.orphan THEN "release" ELSE "unsent"] :
     d \in {e \in Range(t.ds) : t.node # None /\ b.row[e].node = t.node}}

Unplaced(b, ds) ==
  [b EXCEPT !.row = [d \in Deliveries |-> IF d \in Range(ds) THEN [NoRow EXCEPT !.lane = "unplaced"] ELSE b.row[d]],
            !.status = [d \in Deliveries |-> IF d \in Range(ds) THEN "open" ELSE b.status[d]]]

\* The answer is sent at the commit: that is the earliest, so the promise is at its strongest.
Accept(t) ==
  \E n \in IF t.more = "now" THEN {t.node, None} ELSE {None} : \* born leased, or not if the node has no room
    LET b == IF t.more = "now" THEN EnterAll(AsRead(t), t.ds, n) ELSE Unplaced(db, t.ds)
    IN  /\ db' = b
        /\ work' = work \cup InHand(b, t)
        /\ order' = IF t.more = "delayed" THEN order ELSE order \o t.ds
        /\ UNCHANGED resent

\* A claimed delivery takes its place: it was for later, or is sent again. The head stays leased, the others wait.
Place(t) ==
  LET w == t.more
      d == w.d
      row == db.row[d]
      b == Enter(AsRead(t), d, w.node)
      isOurs == row.lane = "unplaced" /\ row.node = w.node /\ row.fence = w.fence
  IN  /\ db' = IF isOurs THEN b ELSE db
      /\ work' = CASE t.orphan -> work
                   [] ~t.orphan /\ isOurs /\ b.row[d].node # None -> (work \ {w}) \cup {[w EXCEPT !.at = "unsent"]}
                   [] OTHER -> work \ {w}
      /\ order' = IF isOurs /\ (d \in resent \/ d \notin Range(order))
                  THEN Append(SelectSeq(order, LAMBDA e : e # d), d) ELSE order
      /\ UNCHANGED resent

\* `t.more.w` is what the node has in hand. `t.more.isExpired`: it must not be tried again, and holds no key.
Finish(t) ==
  LET w == t.more.w
      d == w.d
      k == KeyOf(d)
      row == db.row[d]
      isOurs == /\ row.lane \in IF w.at = "release" THEN {"claimable", "unplaced"} ELSE {"claimable"}
                /\ (FENCED => row.node = w.node /\ row.fence = w.fence)
      waiters == t.waiters[k]
      freed == [db EXCEPT !.row[d].node = None]
  IN  /\ db' = CASE ~isOurs -> IF RELEASES_ONCE \/ w.at # "ok" THEN db ELSE Release(db, k, waiters)
                 [] isOurs /\ w.at = "ok" -> Release(Close(db, d, "Success"), k, waiters)
                 [] isOurs /\ w.at = "release" -> freed
                 [] isOurs /\ w.at = "bad" ->
                      IF t.more.isExpired THEN Release(Close(db, d, "Discarded"), k, waiters)
                      ELSE IF db.tries[d] > 1 THEN [freed EXCEPT !.tries[d] = @ - 1]
                      ELSE Fail(db, d, waiters)
      /\ work' = IF t.orphan THEN work ELSE work \ {w}
      /\ UNCHANGED <<order, resent>>

\* At most once: the interrupted delivery has failed.
ReapInterrupted(t) ==
  LET d == Head(t.ds)
  IN  /\ db' = IF db.row[d].node \in Nodes \ up
               THEN Fail([db EXCEPT !.row[d].fence = @ + 1], d, t.waiters[KeyOf(d)])
               ELSE db
      /\ UNCHANGED <<work, order, resent>>

\* Also expiry and discard.
Cancel(t) ==
  LET d == Head(t.ds)
      k == KeyOf(d)
      row == db.row[d]
      closed == Close(db, d, "Discarded")
  IN  /\ db' = CASE row.lane = "none" -> db
                 [] row.lane # "none" /\ row.node # None /\ ~CANCELS_SENDING -> db \* refused
                 [] row.lane # "none" /\ (row.node = None \/ CANCELS_SENDING) ->
                      IF db.key[k].head = d THEN Release(closed, k, t.waiters[k])
                      ELSE [closed EXCEPT !.waiting[k] = @ \ {d}]
      /\ UNCHANGED <<work, order, resent>>

\* The head that holds its key is given up.
Skip(t) ==
  LET k == CHOOSE k \in t.keys : TRUE
  IN  /\ db' = IF db.key[k].held THEN Release(db, k, t.waiters[k]) ELSE db
      /\ UNCHANGED <<work, order, resent>>

\* The head that holds its key keeps its place; any other takes one at the end of its key when it is claimed.
Resend(t) ==
  LET d == Head(t.ds)
      k == KeyOf(d)
  IN  /\ work' = work
      /\ IF ~Ended(d) THEN UNCHANGED <<db, order, resent>>
         ELSE IF IsHeld(d)
         THEN /\ db' = [Requeue(db, d, "claimable") EXCEPT !.key[k].held = FALSE]
              /\ UNCHANGED <<order, resent>>
         ELSE /\ db' = Requeue(db, d, "unplaced")
              /\ resent' = resent \cup {d}
              /\ UNCHANGED order

Effect(t) ==
  CASE t.op = "accept" -> Accept(t)
    [] t.op = "place"  -> Place(t)
    [] t.op = "finish" -> Finish(t)
    [] t.op = "reap"   -> ReapInterrupted(t)
    [] t.op = "cancel" -> Cancel(t)
    [] t.op = "skip"   -> Skip(t)
    [] t.op = "resend" -> Resend(t)

-----------------------------------------------------------------------------
(* Transactions.                                                            *)

\* Read before the lock: everything that is not read again after it.
Transaction(op, n, ds, keys, more) ==
  [ op |-> op, node |-> n, ds |-> ds, more |-> more, orphan |-> FALSE,
    keys |-> Range(keys),
    want |-> IF LOCKS_KEY THEN keys ELSE <<>>,
    read |-> IF LOCKS_KEY /\ Splits THEN <<>> ELSE db.key,
    waiters |-> IF LOCKS_KEY /\ FRESH_SNAPSHOT /\ Splits THEN <<>> ELSE db.waiting ]

IsOpen(op, ds) == \E s \in Slots : tx[s] # NoTx /\ tx[s].op = op /\ tx[s].ds = ds /\ ~tx[s].orphan
IsFree(s) == tx[s] = NoTx /\ \A r \in Slots : r < s => tx[r] # NoTx

Begin(t) ==
  /\ IF Splits
     THEN /\ \E s \in Slots : IsFree(s) /\ tx' = [tx EXCEPT ![s] = t]
          /\ UNCHANGED <<db, work, order, resent>>
     ELSE Effect(t) /\ UNCHANGED tx
  /\ UNCHANGED <<lock, up, seen>>

Lock(s) ==
  /\ tx[s] # NoTx
  /\ tx[s].want # <<>>
  /\ lock[Head(tx[s].want)] = None
  /\ lock' = [lock EXCEPT ![Head(tx[s].want)] = s]
  /\ LET isLast == Len(tx[s].want) = 1
     IN  tx' = [tx EXCEPT ![s].want = Tail(@),
                          \* the row that was locked is read in its newest version, whatever the snapshot
                          ![s].read = IF isLast THEN db.key ELSE @,
                          ![s].waiters = IF isLast /\ FRESH_SNAPSHOT THEN db.waiting ELSE @]
  /\ UNCHANGED <<db, work, up, begun, order, resent, seen, left>>

Close_(s) ==
  /\ tx' = [tx EXCEPT ![s] = NoTx]
  /\ lock' = [k \in Keys |-> IF lock[k] = s THEN None ELSE lock[k]]

Commit(s) ==
  /\ tx[s] # NoTx /\ tx[s].want = <<>>
  /\ Effect(tx[s])
  /\ Close_(s)
  /\ UNCHANGED <<up, begun, seen, left>>

\* The answer of a finish is lost, before or after its commit; the node does not know which, and sends it again.
LoseAnswer(s) ==
  /\ left.losses > 0
  /\ tx[s] # NoTx /\ tx[s].op = "finish" /\ ~tx[s].orphan
  /\ tx' = [tx EXCEPT ![s].orphan = TRUE]
  /\ left' = [left EXCEPT !.losses = @ - 1]
  /\ UNCHANGED <<db, lock, work, up, begun, order, resent, seen>>

\* A transaction whose caller is gone commits, or not.
Abort(s) ==
  /\ tx[s] # NoTx /\ tx[s].orphan
  /\ Close_(s)
  /\ UNCHANGED <<db, work, up, begun, order, resent, seen, left>>

-----------------------------------------------------------------------------
(* What nodes do.                                                           *)

AcceptEvents(n, size, kind) ==
  LET ds == [i \in 1..size |-> begun + i]
  IN  /\ n \in up
      /\ begun + size <= Count
      /\ begun' = begun + size
      /\ Begin(Transaction("accept", n, ds, IF kind = "now" THEN KeysOf(ds) ELSE <<>>, kind))
      /\ UNCHANGED left

\* Touches the queue row alone.
Claim(n, d) ==
  LET row == db.row[d]
      at == IF row.lane = "claimable" THEN "unsent" ELSE "entering"
  IN  /\ n \in up
      /\ row.lane \in {"claimable", "unplaced"} /\ row.node = None
      /\ db' = [db EXCEPT !.row[d].node = n, !.row[d].fence = @ + 1]
      /\ work' = work \cup {[d |-> d, node |-> n, fence |-> row.fence + 1, at |-> at]}
      /\ UNCHANGED <<tx, lock, up, begun, order, resent, seen, left>>

PlaceDelivery(w) ==
  /\ w.at = "entering" /\ w.node \in up /\ ~IsOpen("place", <<w.d>>)
  /\ Begin(Transaction("place", w.node, <<w.d>>, KeysOf(<<w.d>>), w))
  /\ UNCHANGED <<begun, left>>

Becomes(w, at) == work' = (work \ {w}) \cup {[w EXCEPT !.at = at]}

\* A node that has been silent for 8 s starts no request; others take its rows after 10 s.
Send(w) ==
  /\ w.at = "unsent" /\ w.node \in up
  /\ Becomes(w, "flying")
  /\ UNCHANGED <<db, tx, lock, up, begun, order, resent, seen, left>>

\* The receiver is done with the request; the answer is with its node, which may be silent.
\* "bad" is also a request that never arrived and timed out, or whose answer was lost.
Arrive(w, isSuccess, isLost) ==
  /\ w.at = "flying"
  /\ (isLost => isSuccess /\ left.losses > 0)
  /\ Becomes(w, IF isSuccess /\ ~isLost THEN "ok" ELSE "bad")
  /\ left' = IF isLost THEN [left EXCEPT !.losses = @ - 1] ELSE left
  /\ seen' = IF isSuccess /\ \A i \in DOMAIN seen : seen[i].d # w.d
             THEN Append(seen, [d |-> w.d, late |-> w.fence < db.row[w.d].fence])
             ELSE seen
  /\ UNCHANGED <<db, tx, lock, up, begun, order, resent>>

FinishDelivery(w, isExpired, isLost) ==
  /\ w.at \in {"ok", "bad", "release"} /\ w.node \in up
  /\ ~ \E s \in Slots : tx[s] # NoTx /\ tx[s].op = "finish" /\ tx[s].more.w = w /\ ~tx[s].orphan
  /\ (isExpired => w.at = "bad" /\ "expire" \in Allowed /\ left.operations > 0)
  /\ (isLost => ~Splits /\ left.losses > 0) \* with steps, LoseAnswer does it
  /\ left' = [left EXCEPT !.operations = IF isExpired THEN @ - 1 ELSE @, !.losses = IF isLost THEN @ - 1 ELSE @]
  /\ Begin([Transaction("finish", w.node, <<w.d>>, KeysOf(<<w.d>>), [w |-> w, isExpired |-> isExpired]) EXCEPT !.orphan = isLost])
  /\ UNCHANGED begun

\* It is killed, frozen or cut off. Its requests stay on the network, its transactions may commit.
Silence(n) ==
  /\ left.silences > 0 /\ n \in up /\ Cardinality(up) > 1
  /\ up' = up \ {n}
  /\ left' = [left EXCEPT !.silences = @ - 1]
  /\ tx' = [s \in Slots |-> IF tx[s] # NoTx /\ tx[s].node = n THEN [tx[s] EXCEPT !.orphan = TRUE] ELSE tx[s]]
  /\ UNCHANGED <<db, lock, work, begun, order, resent, seen>>

\* It was frozen or cut off: it records what it knows, and gives back what it has not sent.
Wake(n) ==
  /\ n \in Nodes \ up
  /\ up' = up \cup {n}
  /\ work' = {IF w.node = n /\ w.at \in {"unsent", "entering"} THEN [w EXCEPT !.at = "release"] ELSE w : w \in work}
  /\ UNCHANGED <<db, tx, lock, begun, order, resent, seen, left>>

\* Another node frees a row of the silent one, under a higher fence.
Reap(d) ==
  /\ db.row[d].node \in Nodes \ up
  /\ (WAITS_OUT => \A w \in work : w.d = d => w.at # "flying")
  /\ IF AtMostOnce /\ db.row[d].lane = "claimable"
     THEN /\ ~IsOpen("reap", <<d>>)
          /\ Begin(Transaction("reap", None, <<d>>, KeysOf(<<d>>), ""))
          /\ UNCHANGED <<begun, left>>
     ELSE /\ db' = [db EXCEPT !.row[d].node = None, !.row[d].fence = @ + 1]
          /\ UNCHANGED <<tx, lock, work, up, begun, order, resent, seen, left>>

\* The row of a key that is not in use is removed, and its counter with it.
Forget(k) ==
  /\ "forget" \in Allowed /\ LOCKS_KEY /\ lock[k] = None
  /\ db.key[k].head = None /\ db.key[k].last > 0
  /\ db' = [db EXCEPT !.key[k].last = 0]
  /\ UNCHANGED <<tx, lock, work, up, begun, order, resent, seen, left>>

\* What people and time do.
Operate(op, ds, keys) ==
  /\ op \in Allowed /\ left.operations > 0
  /\ left' = [left EXCEPT !.operations = @ - 1]
  /\ Begin(Transaction(op, None, ds, keys, ""))
  /\ UNCHANGED begun

Operation ==
  \/ \E d \in Deliveries :
       \/ db.status[d] = "open" /\ Operate("cancel", <<d>>, KeysOf(<<d>>))
       \/ Ended(d) /\ Operate("resend", <<d>>, KeysOf(<<d>>))
  \/ \E k \in Keys : db.key[k].held /\ Operate("skip", <<>>, <<k>>)

-----------------------------------------------------------------------------

Kinds == {"now"} \cup (IF Delays THEN {"delayed"} ELSE {}) \cup (IF PLACES_AT_ACCEPT THEN {} ELSE {"expanded"})

\* What happens for certain, sooner or later.
Progress ==
  \/ \E s \in Slots : Lock(s) \/ Commit(s)
  \/ \E d \in Deliveries : Reap(d) \/ \E n \in Nodes : Claim(n, d)
  \/ \E w \in work :
       \/ PlaceDelivery(w)
       \/ Send(w)
       \/ FinishDelivery(w, FALSE, FALSE)
       \/ \E isSuccess \in BOOLEAN : Arrive(w, isSuccess, FALSE)

\* What may happen.
Chance ==
  \/ \E n \in Nodes :
       \/ Silence(n) \/ Wake(n)
       \/ \E size \in 1..MaxBatch, kind \in Kinds : AcceptEvents(n, size, kind)
  \/ \E s \in Slots : LoseAnswer(s) \/ Abort(s)
  \/ \E w \in work :
       \/ Arrive(w, TRUE, TRUE)
       \/ \E isExpired, isLost \in BOOLEAN : (isExpired \/ isLost) /\ FinishDelivery(w, isExpired, isLost)
  \/ Operation
  \/ \E k \in Keys : Forget(k)

Next == Progress \/ Chance

Spec == Init /\ [][Next]_vars /\ WF_vars(Progress)

-----------------------------------------------------------------------------
(* Properties.                                                              *)

Position(d) == CHOOSE i \in DOMAIN order : order[i] = d
Before(a, b) == a \in Range(order) /\ b \in Range(order) /\ KeyOf(a) = KeyOf(b) /\ Position(a) < Position(b)

Overtakes(i, j) == \* the first success of seen[j], which was accepted before seen[i], came after that of seen[i]
  i < j /\ Before(seen[j].d, seen[i].d) /\ {seen[i].d, seen[j].d} \cap resent = {}

\* (1) First successes come in the order of acceptance, but for a request that was superseded: its node was silent, and
\* another one has ended the delivery without a success.
InOrder == \A i, j \in DOMAIN seen : Overtakes(i, j) => seen[j].late

\* (1) without the exception. It does not hold.
StrictlyInOrder == \A i, j \in DOMAIN seen : ~Overtakes(i, j)

\* The exception needs a delivery that ended without a success.
SuccessesInOrder ==
  \A i, j \in DOMAIN seen : Overtakes(i, j) => db.status[seen[j].d] \in {"Failure", "Discarded"}

\* Places are given in the order of commits: what was answered before a call began is before it.
PlacesInOrder ==
  \A k \in Keys :
    LET here == db.waiting[k] \cup (IF db.key[k].head = None THEN {} ELSE {db.key[k].head})
    IN  \A a, b \in here : a # b /\ Before(a, b) => db.place[a] < db.place[b]

\* (2) None waits without a head; the head, and it alone, can be claimed or is leased.
HeadAndWaiters ==
  \A k \in Keys :
    LET key == db.key[k]
        mine == {d \in Deliveries : KeyOf(d) = k}
    IN  /\ (db.waiting[k] # {} => key.head # None)
        /\ key.head \notin db.waiting[k]
        /\ (key.held => key.head # None /\ db.status[key.head] = "Failure" /\ db.row[key.head].lane = "none")
        /\ (key.head # None /\ ~key.held => db.row[key.head].lane = "claimable")
        /\ \A d \in mine :
             /\ (db.row[d].lane = "claimable" => key.head = d /\ ~key.held)
             /\ (db.row[d].lane = "waiting" => d \in db.waiting[k])
             /\ (d \in db.waiting[k] => db.row[d].lane = "waiting")
             /\ (db.row[d].node # None => db.row[d].lane \in {"claimable", "unplaced"})

\* (3) A delivery is open and has a row, or has ended.
NothingLost ==
  \A d \in Deliveries :
    /\ (db.status[d] = "open" <=> db.row[d].lane # "none")
    /\ (db.status[d] = "Success" => \E i \in DOMAIN seen : seen[i].d = d)

\* One request at a time is made under the lease that counts.
OneSender ==
  \A v, w \in work :
    v.at = "flying" /\ w.at = "flying" /\ KeyOf(v.d) = KeyOf(w.d) /\ v # w
      => v.fence < db.row[v.d].fence \/ w.fence < db.row[w.d].fence

\* Two transactions never wait for each other.
NoDeadlock ==
  ~ \E r, s \in Slots :
      /\ tx[r] # NoTx /\ tx[s] # NoTx /\ tx[r].want # <<>> /\ tx[s].want # <<>> /\ r # s
      /\ lock[Head(tx[r].want)] = s /\ lock[Head(tx[s].want)] = r

\* (5) A head gives way once: when it ends, or when its hold is skipped.
ReleasesOnce ==
  [][\A k \in Keys :
       LET head == db.key[k].head
       IN  head # None /\ db'.key[k].head # head =>
             /\ db'.status[head] \in {"Success", "Failure", "Discarded"}
             /\ (db.status[head] = "open" \/ db.key[k].held)]_vars

\* (4) Every delivery ends, or waits in a key that is held.
Ends ==
  \A d \in Deliveries : [](db.status[d] = "open" => <>(Ended(d) \/ db.key[KeyOf(d)].held))
=============================================================================
