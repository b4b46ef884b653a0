import type { ConfigChanges } from '../../control/config-changes.ts';
import { recordChallenge } from '../../control/source-changes.ts';
import { AppError } from '../../domain/errors.ts';
import { BoundedMap } from '../../platform/bounded-map.ts';
import type { ConfigCache } from '../../routing/config-cache.ts';
import type { ProjectRouting } from '../../routing/project-routing.ts';
import type { SourceRow, SourceStore } from '../../store/config/sources.ts';
import type { Database } from '../../store/database/database.ts';

/**
 * Finds the source of an ingest URL. The project and source of a mask never change, so they are cached. The
 * source itself comes from the compiled config, which is kept fresh. Unknown masks are queried each time.
 */
const MAX_REMEMBERED = 100_000;
const CHALLENGE_PAUSE_MS = 60_000;

export interface FoundSource {
  routing: ProjectRouting;
  row: SourceRow;
}

export interface SourceFinderDeps {
  db: Database;
  cache: ConfigCache;
  sources: SourceStore;
  changes: ConfigChanges;
}

export class SourceFinder {
  readonly #deps: SourceFinderDeps;
  readonly #owners = new BoundedMap<string, { projectId: string; sourceId: string }>(MAX_REMEMBERED);

  constructor(deps: SourceFinderDeps) {
    this.#deps = deps;
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

  async #ask(maskId: string): Promise<{ projectId: string; sourceId: string }> {
    const row = await this.#deps.sources.findByMask(this.#deps.db, maskId);
    if (row === undefined) throw new AppError('unknown_source', { mask: maskId });
    const owner = { projectId: row.project_id, sourceId: row.id };
    this.#owners.set(maskId, owner);
    return owner;
  }
}
