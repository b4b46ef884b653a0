import type { DatabaseFault } from '../../domain/errors.ts';
import { faultOf } from './pg-errors.ts';

/**
 * Whether a database that answers takes writes:
 *   yes  -> no statement has failed for want of room or because the server is read only;
 *   no   -> one has. Each question tries whether there is room again: a function that returns more than its memory holds
 *           writes a file of 2 MB to the disk of the database, needs no right and leaves nothing behind.
 */
export type WriteFault = Extract<DatabaseFault, 'full' | 'read_only'>;

type Transaction = <T>(
  work: (tx: { query<R extends object>(text: string): Promise<R[]> }) => Promise<T>,
) => Promise<T>;

const ROOM = `set local work_mem = '64kB'; set local temp_tablespaces = ''`;
const TRY = `select current_setting('transaction_read_only') = 'on' as "isReadOnly",
  (select count(*) from generate_series(1, 100000)) as rows`;

export const writeFaultOf = (error: unknown): WriteFault | null => {
  const fault = faultOf(error);
  return fault === 'full' || fault === 'read_only' ? fault : null;
};

export class WriteWatch {
  readonly #transaction: Transaction;
  #fault: WriteFault | null = null;

  constructor(transaction: Transaction) {
    this.#transaction = transaction;
  }

  failed(error: unknown): void {
    this.#fault = writeFaultOf(error) ?? this.#fault;
  }

  async fault(): Promise<WriteFault | null> {
    if (this.#fault === null) return null;
    try {
      const [row] = await this.#transaction(async (tx) => {
        await tx.query(ROOM);
        return tx.query<{ isReadOnly: boolean }>(TRY);
      });
      this.#fault = row?.isReadOnly === true ? 'read_only' : null;
    } catch (error) {
      // A try that could not be made says nothing.
      this.failed(error);
    }
    return this.#fault;
  }
}
