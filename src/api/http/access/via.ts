import { AsyncLocalStorage } from 'node:async_hooks';

/** The tool of an assistant that makes the calls within `run`, for the audit log. Callers have no way to name one. */
export const via = new AsyncLocalStorage<string>();
