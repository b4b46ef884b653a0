import { lookAtOrdering } from '../../control/alert-changes.ts';
import type { StateChange, StateItem, StateKind } from '../../control/state-changes.ts';
import { type LastFailure, orderingSubject } from '../../domain/alert.ts';
import type { ProjectId } from '../../domain/ids.ts';
import type { Finish } from '../../store/queue/finish.ts';
import { lastFailure } from '../attempt/sent.ts';
import type { EnginePart } from '../deps/engine-deps.ts';
import { alertMoves } from './alert-moves.ts';

/**
 * Watches the ordering keys of subscriptions. States of each subscription:
 * quiet  -> an ordered delivery that ends as a failure makes the node look whether a key is held, and raise the alert.
 * raised -> an ordered delivery that ends otherwise, or a skip, makes it look whether none is held, and clear the alert.
 *
 * Looks are made after the commit of the end. The janitor makes those that a node did not live to make, and those after
 * ends that no node sees, such as a removal by age.
 */
export type OrderingAlertsDeps = EnginePart<'cache' | 'changes' | 'log'>;

interface Look extends StateItem {
  subscriptionId: string;
  last: LastFailure | null;
}

export class OrderingAlerts {
  readonly #deps: OrderingAlertsDeps;
  readonly #looks: StateKind<Look>;

  constructor(deps: OrderingAlertsDeps) {
    this.#deps = deps;
    this.#looks = deps.changes.states.kind((id, looks) => this.#settle(id, looks));
  }

  /** A delivery ended, and this is committed. */
  ended(finish: Finish): void {
    const { delivery, status } = finish;
    if (delivery.orderingId === null || finish.delayMs !== null) return;
    const { projectId, subscriptionId } = delivery;
    const routing = this.#deps.cache.peek(projectId);
    const subscription = routing?.subscriptions.get(subscriptionId ?? '');
    if (subscriptionId === null || routing === undefined || subscription === undefined) return;
    const isRaised = routing.alerts.get(orderingSubject(subscriptionId))?.isRaised === true;
    if (status === 'Failure') {
      if (!isRaised && subscription.row.ordering?.on_failure === 'hold')
        this.look({ projectId, subscriptionId }, lastFailure(finish));
    } else if (isRaised) this.look({ projectId, subscriptionId });
  }

  look(
    { projectId, subscriptionId }: { projectId: ProjectId; subscriptionId: string },
    last: LastFailure | null = null,
  ): void {
    const key = `${subscriptionId} ${last === null ? 'cleared' : 'raised'}`;
    this.#looks.add({ projectId, subscriptionId, last, key });
  }

  async #settle(projectId: ProjectId, looks: readonly Look[]): Promise<StateChange | null> {
    const last = new Map<string, LastFailure | null>();
    for (const look of looks)
      last.set(look.subscriptionId, look.last ?? last.get(look.subscriptionId) ?? null);
    const settle = await lookAtOrdering(this.#deps.changes, projectId, last);
    return settle === null ? null : alertMoves(this.#deps, settle);
  }
}
