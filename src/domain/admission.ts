import { SharedRoom } from '../platform/shared-room.ts';
import { AppError } from './errors.ts';

/**
 * Calls that stay open on this node: connections of devices, pulls that wait. A caller, an endpoint and a project have at
 * most so many at a time. Projects share the room of the node, and the next project always finds room in it.
 */
export interface AdmissionBounds {
  /** Such as "listening connections". */
  what: string;
  /** The bound of a key, a person or a portal link. */
  caller: number;
  endpoint?: number;
  project: number;
  node: number;
}

export interface Visitor {
  callerId: string;
  endpointId?: string;
  projectId: string;
}

const RETRY_SECONDS = 5;

export class Admission {
  readonly #bounds: AdmissionBounds;
  readonly #callers: SharedRoom;
  readonly #endpoints: SharedRoom;
  readonly #projects: SharedRoom;

  constructor(bounds: AdmissionBounds) {
    this.#bounds = bounds;
    const bounded = (mostEach?: number) => new SharedRoom(Number.POSITIVE_INFINITY, 1, mostEach);
    this.#callers = bounded(bounds.caller);
    this.#endpoints = bounded(bounds.endpoint);
    this.#projects = new SharedRoom(bounds.node, 1, bounds.project);
  }

  /** Returns how to leave. Throws if a bound is reached. */
  enter({ callerId, endpointId = '', projectId }: Visitor): () => void {
    const { caller, endpoint = 0, project, node } = this.#bounds;
    const isNode = this.#projects.usedBy(projectId) < project;
    const steps: [SharedRoom, string, { who: string; limit: number }][] = [
      [this.#callers, callerId, { who: 'A key, person or portal link', limit: caller }],
      [this.#endpoints, endpointId, { who: 'An endpoint', limit: endpoint }],
      [
        this.#projects,
        projectId,
        isNode ? { who: 'All projects together', limit: node } : { who: 'A project', limit: project },
      ],
    ];
    const entered: (() => void)[] = [];
    for (const [room, sharer, bound] of steps) {
      if (!room.enter(sharer)) {
        for (const leave of entered) leave();
        throw new AppError('too_many', {
          ...bound,
          what: `${this.#bounds.what} on a node`,
          retry: RETRY_SECONDS,
        });
      }
      entered.push(() => room.leave(sharer));
    }
    return () => {
      for (const leave of entered) leave();
    };
  }
}
