import { BlockedAddress } from '../../dispatch/address/egress.ts';
import { type Reason, worded } from '../module/broker-error.ts';
import { networkReason } from '../module/network-error.ts';

/** Words an error of a database or of the connection for the owner of the source. */
type Texts = readonly (readonly [RegExp, string])[];

/** The code says too little, or there is none. */
const BY_TEXT: Texts = [
  [/no pg_hba.conf entry/, 'The database lets no such connection in: pg_hba.conf has no entry for it.'],
  [
    /permission denied to start WAL sender|must be superuser or replication role/i,
    'The user may not replicate: give it the attribute REPLICATION.',
  ],
  [
    /permission denied to use replication slots|must have REPLICATION/i,
    'The user may not use replication slots: give it the attribute REPLICATION.',
  ],
  [
    /wal_level/,
    'The database does not write what replication needs: set wal_level to logical and restart it.',
  ],
  [
    /publication ".*" does not exist/,
    'The replication slot is older than the publication and cannot read it: drop the slot, or name another.',
  ],
  [
    /can no longer (get changes|access)|has been invalidated|requested WAL segment .* has already been removed/,
    'The database has removed changes that this source had not taken. To go on from now give the source another slot_name.',
  ],
  [
    /all replication slots are in use/i,
    'The database has no free replication slot: raise max_replication_slots.',
  ],
  [/max_wal_senders/, 'The database has no free connection for replication: raise max_wal_senders.'],
  [/does not support SSL/, 'The database does not speak TLS: unset sslmode or use another port.'],
  [/client password must be|SASL: /, 'The database refused the user name or the password.'],
  [
    /received invalid response|does not say which one it is/,
    'The server does not speak the protocol of PostgreSQL: check host and port.',
  ],
  [/timeout expired|timeout exceeded|connection timeout/, 'The database does not answer.'],
];

const BY_CODE: Record<string, string> = {
  '28P01': 'The database refused the user name or the password.',
  '28000': 'The database refused the user name or the password.',
  '3D000': 'The database server has no database of that name.',
  '53300': 'The database has no free connection.',
  '55P03':
    'The database has transactions that have been open for long. A slot can begin when they have ended.',
  '55006': 'Another consumer uses the replication slot.',
  '57P01': 'The database ended the connection.',
  '57P02': 'The database ended the connection.',
  '57P03': 'The database is not ready: it is starting or stopping.',
};

const CLOSED =
  /Connection terminated|closed the connection|Client has encountered a connection error|not queryable/;
const SQLSTATE = /^[0-9A-Z]{5}$/;

export const postgresError = (error: unknown): Error =>
  worded(error, (parts) => {
    const text = textOf(error as Error, networkReason(parts));
    return text === undefined ? undefined : ['broker_refused', text];
  });

function textOf(error: Error & { code?: string }, network: Reason | undefined): string | undefined {
  const { message, code = '' } = error;
  if (error instanceof BlockedAddress) return `${message[0]?.toUpperCase()}${message.slice(1)}.`;
  return (
    BY_TEXT.find(([pattern]) => pattern.test(message))?.[1] ??
    BY_CODE[code] ??
    network?.[1].replace('broker', 'database') ??
    (CLOSED.test(message) ? 'The database closed the connection.' : undefined) ??
    (SQLSTATE.test(code) ? `The database answered: ${message}` : undefined)
  );
}
