import type { FastifyInstance } from 'fastify';
import { AppError } from '../domain/errors.ts';
import { isId } from '../domain/ids.ts';
import { Batcher } from '../platform/batcher.ts';
import { BoundedMap } from '../platform/bounded-map.ts';
import { findApiKeys } from '../store/config/api-keys.ts';
import { findLinksByToken } from '../store/config/portal-links.ts';
import { type FoundProject, findProjects, projectMoving } from '../store/config/projects.ts';
import { findByMasks } from '../store/config/sources.ts';
import type { Database } from '../store/database/database.ts';
import { because, isConnectionError } from '../store/database/pg-errors.ts';

/** A cell as requests find it: one database with the projects that live in it. */
export interface Cell {
  readonly name: string;
  readonly db: Database;
  /** Answers requests. Undefined: the cell could not be reached since this process started. */
  server(): FastifyInstance | undefined;
}

/**
 * Leads to the cell of a project. A project's row in its cell is its only entry: all cells are asked once, the first that
 * has it is remembered, and the answer is dropped when the project changes (`forget`). So nothing is stored twice, and a
 * cell that is down hides its own projects only. States of a project:
 *   known   -> in memory, no statement;
 *   asked   -> one statement per cell, shared with other projects that are asked for at the time;
 *   closed  -> its move is about to end: asked again for WAIT_MS, then the caller gets 503;
 *   unknown -> all cells answered, and none has it.
 */
const MAX_REMEMBERED = 100_000;
const LOOK_UPS = 500;
const WAIT_MS = 2_000;
const ASK_AGAIN_MS = 100;

/** Where the request says what it is about. */
export type Sign = { kind: 'mask' | 'credential'; value: string };

type Answer<T> = { cell: Cell; found: T };

export class Directory {
  readonly #cells: readonly AskedCell[];
  readonly #known = new BoundedMap<string, Cell>(MAX_REMEMBERED);
  /** The project of a mask, key or token never changes. Null: that of an instance key. */
  readonly #owners = new BoundedMap<string, string | null>(MAX_REMEMBERED);

  readonly #hash: (credential: string) => Buffer;

  constructor(cells: readonly Cell[], hash: (credential: string) => Buffer) {
    this.#hash = hash;
    this.#cells = cells.map((cell) => new AskedCell(cell, hash));
  }

  peek(projectId: string): Cell | undefined {
    return this.#known.get(projectId);
  }

  forget(projectId: string): void {
    this.#known.delete(projectId);
  }

  /** Undefined: no cell has the project. */
  async cellOf(projectId: string): Promise<Cell | undefined> {
    // A text that is no id, such as one with a zero byte, would fail the statement for all others in it.
    if (!isId(projectId)) return undefined;
    const stopAt = performance.now() + WAIT_MS;
    for (;;) {
      const known = this.#known.get(projectId);
      if (known !== undefined) return known;
      const answer = await this.#ask((cell) => cell.projects.add(projectId));
      if (answer === undefined) return undefined;
      if (answer.found.state !== 'closed') {
        this.#known.set(projectId, answer.cell);
        return answer.cell;
      }
      if (performance.now() > stopAt) throw projectMoving(projectId);
      await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
    }
  }

  /** The project that a mask, key or token belongs to. Null: to none. Undefined: no cell knows it. */
  async projectOf({ kind, value }: Sign): Promise<string | null | undefined> {
    // Memory has no credentials of callers.
    const key = kind === 'mask' ? value : this.#hash(value).toString('base64');
    const known = this.#owners.get(key);
    if (known !== undefined) return known;
    const answer = await this.#ask((cell) => cell.owner(kind, value));
    if (answer === undefined) return undefined;
    this.#owners.set(key, answer.found.projectId);
    return answer.found.projectId;
  }

  /** The first answer counts. One of a project that is open counts before one of a closed project. */
  async #ask<T extends object>(
    ask: (cell: AskedCell) => Promise<T | undefined>,
  ): Promise<Answer<T> | undefined> {
    const asked = this.#cells.map(async (asking): Promise<Answer<T>> => {
      const found = await ask(asking);
      if (found === undefined) throw NOT_HERE;
      if ('state' in found && found.state === 'closed') throw new Closed({ cell: asking.cell, found });
      return { cell: asking.cell, found };
    });
    try {
      return await Promise.any(asked);
    } catch (error) {
      const { errors } = error as AggregateError;
      const closed = errors.find((one) => one instanceof Closed);
      if (closed !== undefined) return closed.answer as Answer<T>;
      const failed = errors.find((one) => one !== NOT_HERE);
      if (failed === undefined) return undefined;
      if (!isConnectionError(failed)) throw failed;
      throw new AppError('cell_unavailable', { retry: 1 }, because(failed));
    }
  }
}

const NOT_HERE = new Error('not in this cell');

class Closed extends Error {
  readonly answer: Answer<object>;

  constructor(answer: Answer<object>) {
    super('the project is closed in this cell');
    this.answer = answer;
  }
}

/** Lookups share a statement, one at a time, so invented ids cannot fill a pool. */
class AskedCell {
  readonly cell: Cell;
  readonly projects: Batcher<string, FoundProject | undefined>;
  readonly #masks: Batcher<string, { projectId: string | null } | undefined>;
  readonly #keys: Batcher<Buffer, { projectId: string | null } | undefined>;
  readonly #links: Batcher<Buffer, { projectId: string | null } | undefined>;
  readonly #hash: (credential: string) => Buffer;

  constructor(cell: Cell, hash: (credential: string) => Buffer) {
    this.cell = cell;
    this.#hash = hash;
    const sharing = { maxWeight: LOOK_UPS, maxInFlight: 1, paceMs: 0 };
    const owners = (rows: readonly ({ project_id: string | null } | undefined)[]) =>
      rows.map((row) => row && { projectId: row.project_id });
    this.projects = new Batcher({ run: (ids) => findProjects(cell.db, ids), ...sharing });
    this.#masks = new Batcher({ run: (masks) => findByMasks(cell.db, masks), ...sharing });
    this.#keys = new Batcher({
      run: async (hashes) => owners(await findApiKeys(cell.db, hashes)),
      ...sharing,
    });
    this.#links = new Batcher({
      run: async (hashes) => owners(await findLinksByToken(cell.db, hashes)),
      ...sharing,
    });
  }

  async owner(kind: Sign['kind'], value: string): Promise<{ projectId: string | null } | undefined> {
    // No text of the database has a zero byte: it would fail the statement for all others in it.
    if (value.includes('\0')) return undefined;
    if (kind === 'mask') return this.#masks.add(value);
    const hash = this.#hash(value);
    return value.startsWith('CO.') ? this.#keys.add(hash) : this.#links.add(hash);
  }
}
