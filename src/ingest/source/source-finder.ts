import type { ConfigChanges } from '../../control/config-changes.ts';
import { recordChallenge } from '../../control/source-changes.ts';
import { AppError } from '../../domain/errors.ts';
import { Batcher } from '../../platform/batcher.ts';
import { BoundedMap } from '../../platform/bounded-map.ts';
import type { ConfigCache } from '../../routing/config-cache.ts';
import type { ProjectRouting } from '../../routing/project-routing.ts';
import { findByMasks, type MaskOwner, type SourceRow } from '../../store/config/sources.ts';
import type { Database } from '../../store/database/database.ts';

/**
 * Finds the source of an ingest URL. The project and source of a mask never change, so they are cached. The
 * source itself comes from the compiled config, which is kept fresh. Unknown masks are queried each time.
 */
const MAX_REMEMBERED = 100_000;
const LOOK_UPS = 500;
const CHALLENGE_PAUSE_MS = 60_000;

export interface FoundSource {
  routing: ProjectRouting;
  row: SourceRow;
}

export interface SourceFinderDeps {
  db: Database;
  cache: ConfigCache;
  changes: ConfigChanges;
}

export class SourceFinder {
  readonly #deps: SourceFinderDeps;
  readonly #owners = new BoundedMap<string, MaskOwner>(MAX_REMEMBERED);
  /** Queries share a statement, one at a time: made-up masks cannot fill the pool. */
  readonly #masks: Batcher<string, MaskOwner | undefined>;

  constructor(deps: SourceFinderDeps) {
    this.#deps = deps;
    this.#masks = new Batcher({
      run: (masks) => findByMasks(deps.db, masks),
      maxWeight: LOOK_UPS,
      maxInFlight: 1,
      paceMs: 0,
    });
  }

  async find(maskId: string): Promise<FoundSource> {
    const owner = this.#owners.get(maskId) ?? (await this.#ask(maskId));
    const routing = this.#deps.cache.peek(owner.projectId) ?? (await this.#deps.cache.get(owner.projectId));
    const row =
      routing.sources.get(owner.sourceId) ??
      (await this.#deps.cache.refresh(owner.projectId)).sources.get(owner.sourceId);
    if (row === undefined) throw new AppError('unknown_source', { mask: maskId });
    return { routing, row };
  }

  /**
   * Records when a Twitter source last answered its challenge, to the minute. Anyone may send a challenge,
   * and each write is a config change that makes events in progress match again.
   */
  async recordChallenge({ row }: FoundSource, verifiedAt: string): Promise<void> {
    const known = row.provider_config?.twitter.crc_verified_at ?? null;
    if (known !== null && Date.parse(verifiedAt) - Date.parse(known) < CHALLENGE_PAUSE_MS) return;
    await recordChallenge(this.#deps.changes, row, verifiedAt);
  }

  async #ask(maskId: string): Promise<MaskOwner> {
    // No text of the database has a zero byte: it would fail the statement for all masks in it.
    const owner = maskId.includes('\0') ? undefined : await this.#masks.add(maskId);
    if (owner === undefined) throw new AppError('unknown_source', { mask: maskId });
    this.#owners.set(maskId, owner);
    return owner;
  }
}
