/**
 * Counts of stored events and new deliveries of this node, in memory until they are stored
 * (src/engine/upkeep/count-writer.ts). Counting is a lookup in a map and an addition. With MAX_SUBJECTS that are not
 * stored yet, further endpoints are left out; projects and sources never are.
 */
export interface Accepted {
  projectId: string;
  sourceId: string | null;
  /** Null: events are counted. */
  endpointId: string | null;
  count: number;
}

const MAX_SUBJECTS = 50_000;

export class AcceptedCounts {
  #counts = new Map<string, Accepted>();

  /** An event was stored, with its deliveries so far. */
  accepted(
    { projectId, sourceId }: Pick<Accepted, 'projectId' | 'sourceId'>,
    deliveries: readonly { endpointId: string }[],
  ): void {
    this.#add({ projectId, sourceId, endpointId: null, count: 1 });
    this.made(projectId, deliveries);
  }

  /** Deliveries were made: of an event, a large fan-out or a replay. */
  made(projectId: string, deliveries: readonly { endpointId: string }[]): void {
    for (const { endpointId } of deliveries) this.#add({ projectId, sourceId: null, endpointId, count: 1 });
  }

  /** The counts since the last call. */
  take(): Accepted[] {
    const taken = [...this.#counts.values()];
    this.#counts = new Map();
    return taken;
  }

  /** Takes back counts that could not be stored. */
  giveBack(counts: readonly Accepted[]): void {
    for (const accepted of counts) this.#add(accepted);
  }

  #add(accepted: Accepted): void {
    const key = accepted.endpointId ?? `${accepted.projectId} ${accepted.sourceId ?? ''}`;
    const known = this.#counts.get(key);
    if (known !== undefined) known.count += accepted.count;
    else if (this.#counts.size < MAX_SUBJECTS || accepted.endpointId === null)
      this.#counts.set(key, { ...accepted });
  }
}
