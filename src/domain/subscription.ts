/** Conditions on an event, as given by the user: nested or dotted, per scope. */
export interface FilterConditions {
  body: Record<string, unknown>;
  headers: Record<string, unknown>;
  query: Record<string, unknown>;
  path: Record<string, unknown>;
}

export interface RetryConfig {
  type: 'linear' | 'exponential';
  /** Seconds between tries. */
  duration: number;
  /** Retries after the first try. */
  retry_count: number;
}

export const noConditions = (): FilterConditions => ({ body: {}, headers: {}, query: {}, path: {} });
