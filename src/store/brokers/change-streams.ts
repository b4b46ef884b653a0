import type { ChangeStreamSettings } from '../../domain/config/source.ts';
import { parseStored } from '../../domain/stored-json.ts';
import type { Sealer } from '../../platform/sealer.ts';
import { Secret } from '../../platform/secret.ts';
import type { Queryable } from '../database/database.ts';
import type { StreamKey } from './broker-lots.ts';

/**
 * The records of change streams in our database: which node reads a slot, which slots and publications were made for which
 * source, and how far a stream is.
 *
 * A lease lasts LEASE_SECONDS and is renewed by its holder. A node that stops gives it back.
 *
 * A slot that no one reads makes its database keep its log for ever. So a slot has a row here before it is made, with
 * what is needed to drop it again. The row goes when the slot is dropped.
 */
const LEASE_SECONDS = 15;

export interface SourceKey {
  id: string;
  projectId: string;
}

export interface SlotRow {
  /** `<source>/<system identifier>/<database>/<slot>` */
  id: string;
  sourceId: string;
  projectId: string;
  /** Made by us, so they are dropped with the source. */
  isSlotMade: boolean;
  isPublicationMade: boolean;
  /** Where the slot began, as `<timeline>/<LSN>`; empty: it was not there yet. */
  generation: string;
  /** Grows when the log of the database went back without a new timeline. */
  epoch: number;
  /** Its source uses another slot now. */
  isFormer: boolean;
  settings: Secret<ChangeStreamSettings>;
}

interface StoredSlot extends Omit<SlotRow, 'settings'> {
  sealed: Buffer;
}

const COLUMNS = `id, source_id as "sourceId", project_id as "projectId", is_slot_made as "isSlotMade",
  is_publication_made as "isPublicationMade", generation, epoch, is_former as "isFormer", sealed`;
/** The source is gone, or takes from something else now. */
const GONE = `not exists (select from sources s join projects p on p.id = s.project_id
  where s.id = source_id and s.type = 'db_change_stream' and s.deleted_at is null and p.deleted_at is null)`;

/** Slots that are to be dropped, and tried now. */
export const UNUSED_SLOTS = `retry_at <= now() and (is_former or ${GONE})
  and not exists (select from projects p where p.id = change_stream_slots.project_id and p.cell_state is not null)`;

export class ChangeStreamStore {
  readonly #db: Queryable;
  readonly #sealer: Sealer;
  readonly #nodeId: string;

  constructor({ db, sealer, nodeId }: { db: Queryable; sealer: Sealer; nodeId: string }) {
    this.#db = db;
    this.#sealer = sealer;
    this.#nodeId = nodeId;
  }

  /** Identifies our own database, which cannot be a source: each event would be a change and make another event. */
  async ownIdentity(): Promise<{ system: string; database: string }> {
    const [own] = await this.#db.query<{ system: string; database: string }>(
      'select system_identifier::text as system, current_database() as database from pg_control_system()',
    );
    return own as { system: string; database: string };
  }

  /** Takes or renews the lease. False: another node has it. */
  async lease({ id, projectId }: SourceKey): Promise<boolean> {
    const rows = await this.#db.query(
      `insert into source_leases as l (source_id, project_id, node_id, leased_until)
       values ($1, $2, $3, clock_timestamp() + ${LEASE_SECONDS} * interval '1 second')
       on conflict (source_id) do update set node_id = excluded.node_id, leased_until = excluded.leased_until
       where l.node_id = excluded.node_id or l.leased_until < clock_timestamp()
       returning 1`,
      [id, projectId, this.#nodeId],
    );
    return rows.length > 0;
  }

  async giveBack(sourceId: string): Promise<void> {
    await this.#db.query('delete from source_leases where source_id = $1 and node_id = $2', [
      sourceId,
      this.#nodeId,
    ]);
  }

  async position({ sourceId, stream }: Pick<StreamKey, 'sourceId' | 'stream'>): Promise<string> {
    const [row] = await this.#db.query<{ position: string }>(
      'select position from broker_positions where source_id = $1 and stream = $2',
      [sourceId, stream],
    );
    return row?.position ?? '';
  }

  /** For a place that no event is at. */
  async setPosition({ sourceId, stream, projectId }: StreamKey, position: string): Promise<void> {
    await this.#db.query(
      `insert into broker_positions (source_id, stream, project_id, position) values ($1, $2, $3, $4)
       on conflict (source_id, stream) do update set position = excluded.position, updated_at = now()`,
      [sourceId, stream, projectId, position],
    );
  }

  /** All that the source uses, or used. */
  async slots(sourceId: string): Promise<SlotRow[]> {
    const rows = await this.#db.query<StoredSlot>(
      `select ${COLUMNS} from change_stream_slots where source_id = $1`,
      [sourceId],
    );
    return rows.map((row) => this.#opened(row));
  }

  async saveSlot(row: SlotRow): Promise<void> {
    const sealed = this.#sealer.seal(JSON.stringify(row.settings.reveal()), place(row.id));
    await this.#db.query(
      `insert into change_stream_slots (id, source_id, project_id, is_slot_made, is_publication_made, generation, epoch, sealed)
       values ($1, $2, $3, $4, $5, $6, $7, $8)
       on conflict (id) do update set is_slot_made = excluded.is_slot_made,
         is_publication_made = excluded.is_publication_made, generation = excluded.generation,
         epoch = excluded.epoch, sealed = excluded.sealed, is_former = false`,
      [
        row.id,
        row.sourceId,
        row.projectId,
        row.isSlotMade,
        row.isPublicationMade,
        row.generation,
        row.epoch,
        sealed,
      ],
    );
  }

  /** The source uses this slot now, and no longer the others that it used before. */
  async retireOthers({ sourceId, id }: Pick<SlotRow, 'sourceId' | 'id'>): Promise<void> {
    await this.#db.query(
      'update change_stream_slots set is_former = true where source_id = $1 and id <> $2 and not is_former',
      [sourceId, id],
    );
  }

  async unusedSlots(): Promise<SlotRow[]> {
    const rows = await this.#db.query<StoredSlot>(
      `select ${COLUMNS} from change_stream_slots where ${UNUSED_SLOTS} order by id limit 20`,
    );
    return rows.map((row) => this.#opened(row));
  }

  async removeSlot(id: string): Promise<void> {
    await this.#db.query('delete from change_stream_slots where id = $1', [id]);
  }

  /** After longer and longer waits, up to an hour. */
  async retrySlotLater(id: string): Promise<void> {
    await this.#db.query(
      `update change_stream_slots set tries = tries + 1,
         retry_at = now() + least(3600, 2 ^ least(tries, 12)) * interval '1 second' where id = $1`,
      [id],
    );
  }

  #opened({ sealed, ...row }: StoredSlot): SlotRow {
    const open = () => parseStored(this.#sealer.open(sealed, place(row.id))) as ChangeStreamSettings;
    return { ...row, settings: Secret.sealed(open) };
  }
}

const place = (id: string): string => `change stream ${id}`;
