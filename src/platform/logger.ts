import { EventEmitter } from 'node:events';
import { type DestinationStream, type Logger as PinoLogger, pino, stdSerializers } from 'pino';

export type Logger = PinoLogger;

/**
 * Secrets travel as `Secret`, which shows itself as `***`. This is the second net, by name: whatever has one of these
 * names is not logged, at the top or one level down, nor what a database quotes of the rows it was given.
 */
const NAMES = [
  'authorization',
  'cookie',
  'headers',
  'password',
  'secret',
  'secrets',
  'sealed',
  'token',
  'access_token',
  'client_secret',
  'client_key',
  'private_key',
  'signing_key',
  'connectionString',
  'slack_webhook_url',
  'teams_webhook_url',
];
const ROW_QUOTES = ['detail', 'where', 'internalQuery', 'parameters'];

/** Of lines that cannot be written, a full disk's for instance, no more than this is kept. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;

const standardError = () =>
  pino.destination({ dest: 2, sync: false, minLength: 0, maxLength: MAX_WAITING_BYTES });

/** JSON lines on stderr: stdout belongs to what commands print for people and scripts. */
export function createLogger(level: string, destination: DestinationStream = standardError()): Logger {
  // A line that cannot be written is an event, and one without a listener would end the process. A node counts them.
  if (destination instanceof EventEmitter) destination.on('error', () => {});
  return pino(
    {
      level,
      base: null,
      serializers: { err: withoutRows },
      redact: { paths: NAMES.flatMap((name) => [name, `*.${name}`]), censor: '***' },
    },
    destination,
  );
}

function withoutRows(error: Error): unknown {
  const shown: unknown = stdSerializers.err(error);
  if (typeof shown !== 'object' || shown === null) return shown;
  return Object.fromEntries(Object.entries(shown).filter(([name]) => !ROW_QUOTES.includes(name)));
}
