import type { FastifyInstance } from 'fastify';
import type { Database } from '../store/database/database.ts';

/** A cell as requests find it: one database with the projects that live in it. */
export interface Cell {
  readonly name: string;
  readonly db: Database;
  /** Answers requests. Undefined: the cell could not be reached since this process started. */
  server(): FastifyInstance | undefined;
}
