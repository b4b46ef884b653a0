import type { Credentials } from './first-start.ts';

/** The program once it serves: one node, or the primary of several. */
export interface Running {
  url: string;
  /** Created by this start, if it was the first. */
  credentials: Credentials | null;
  /** Ids of its nodes. */
  nodes: string[];
  /** Safe to call twice. */
  stop(): Promise<void>;
}
