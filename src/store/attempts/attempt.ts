/** One request to an endpoint and its response, or one result of a consumer, as it is recorded. */
export interface Attempt {
  id: string;
  url: string;
  ipAddress: string | null;
  httpStatus: string | null;
  /** See src/domain/delivery.ts. Kept with the delivery. */
  outcome: string;
  error: string | null;
  succeeded: boolean;
  /** Without credentials. */
  requestHeaders: Readonly<Record<string, string>>;
  responseHeaders: Readonly<Record<string, readonly string[]>> | null;
  responseBody: Buffer | null;
  timings: Timings;
  requestedAtMs: number;
}

/** In the order in which they are stored. A time that was not measured is missing. */
export const TIMES = ['totalMs', 'firstByteMs', 'dnsMs', 'connectMs', 'tlsMs'] as const;

export type Timings = Partial<Record<(typeof TIMES)[number], number>> & { totalMs: number };

/** The parts of an attempt that its record holds. The others have columns of their own. */
export type Recorded = Pick<
  Attempt,
  'url' | 'ipAddress' | 'httpStatus' | 'error' | 'requestHeaders' | 'responseHeaders' | 'timings'
>;
