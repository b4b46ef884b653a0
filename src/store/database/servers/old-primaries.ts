import type { Logger } from '../../../platform/logger.ts';
import { type Clock, systemClock } from '../../../platform/time/clock.ts';
import { reasonOf } from '../pg-errors.ts';
import { compareLines, logBytes } from './line.ts';
import type { ServerLook, ServerState } from './server-look.ts';

/**
 * Servers that take writes on an older line than one that was seen. States of each:
 *   replaced -> a newer primary answers: the old one has to give way;
 *   alone    -> no newer one answers. It may be cut off and have commits that this one lacks, so the old one is not used;
 *   followed -> alone, and all servers answer and follow it: none of them has such commits. After `waitMs` it is accepted.
 *
 * An acceptance is a mark in the old primary (accept-primary.ts), which `posthorn nodes accept-primary` writes too.
 */
const REPLACED = 'an old primary of the database takes writes; it is not used; stop it or make it a standby';
const ALONE =
  'the only primary of the database is older than one seen; it is not used until every server follows it or posthorn nodes accept-primary marks it';

/** A process that stood still begins to wait again. */
const MOST_GAP_MS = 6_000;

export type LookedAt = Pick<ServerLook, 'name' | 'state' | 'accept'>;

interface Followed {
  server: LookedAt;
  sinceMs: number;
  seenMs: number;
  /** Its followers have replayed this since. */
  logBytes: number;
}

export class OldPrimaries {
  readonly #log: Logger;
  readonly #waitMs: number;
  readonly #clock: Clock;
  readonly #said = new Map<LookedAt, string>();
  #followed: Followed | undefined;
  #isAccepting = false;

  constructor(log: Logger, waitMs: number, clock: Clock = systemClock) {
    this.#log = log;
    this.#waitMs = waitMs;
    this.#clock = clock;
  }

  /** After each look at a server. */
  judge(looks: readonly LookedAt[], newest: ServerState): void {
    const primaries = looks.filter(
      ({ state }) => state?.isStandby === false && state.cluster === newest.cluster,
    );
    const isOld = ({ state }: LookedAt) => state !== undefined && compareLines(state, newest) < 0;
    const old = primaries.filter(isOld);
    const message = old.length === primaries.length ? ALONE : REPLACED;
    for (const server of looks) {
      const isSaid = this.#said.get(server) === message;
      if (!old.includes(server)) this.#said.delete(server);
      else if (!isSaid) this.#say(server, newest, message);
    }
    const [only, ...others] = old;
    const isAlone = message === ALONE && others.length === 0;
    this.#wait(isAlone && only !== undefined && isFollowed(only, looks) ? only : undefined, looks);
  }

  #say(server: LookedAt, newest: ServerState, message: string): void {
    this.#said.set(server, message);
    this.#log.error(
      { server: server.name, timeline: server.state?.timeline, newest: newest.timeline },
      message,
    );
  }

  #wait(server: LookedAt | undefined, looks: readonly LookedAt[]): void {
    const now = this.#clock.elapsed();
    const { state } = server ?? {};
    if (server === undefined || state === undefined) {
      this.#followed = undefined;
      return;
    }
    const before = this.#followed;
    if (before?.server !== server || now - before.seenMs > MOST_GAP_MS) {
      this.#followed = { server, sinceMs: now, seenMs: now, logBytes: logBytes(state.lsn) };
      return;
    }
    before.seenMs = now;
    const isDue = now - before.sinceMs >= this.#waitMs;
    if (isDue && looks.every((one) => logBytes(one.state?.lsn ?? null) >= before.logBytes))
      this.#accept(server);
  }

  #accept(server: LookedAt): void {
    if (this.#isAccepting) return;
    this.#isAccepting = true;
    void server
      .accept()
      .catch((error: unknown) => {
        this.#followed = undefined;
        this.#log.warn(
          { server: server.name, reason: reasonOf(error) },
          'failed to accept an old primary; run posthorn nodes accept-primary as the owner of the tables',
        );
      })
      .finally(() => {
        this.#isAccepting = false;
      });
  }
}

/** Every server answers, and all others are its standbys. */
function isFollowed({ state: primary }: LookedAt, looks: readonly LookedAt[]): boolean {
  if (primary === undefined || primary.isReadOnly || looks.length < 2) return false;
  return looks.every(
    ({ state }) =>
      state === primary ||
      (state?.isStandby === true && state.cluster === primary.cluster && compareLines(state, primary) === 0),
  );
}
