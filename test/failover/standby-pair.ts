import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '../support/eventually.ts';
import { type DatabaseRelay, startDatabaseRelay } from '../support/servers/database-relay.ts';
import { OwnPostgres } from '../support/servers/own-postgres.ts';

const run = promisify(execFile);

/**
 * A primary and a standby that streams from it. The primary is reached through a relay, by nodes and by the
 * standby, so that it can be cut off. The test promotes, as a tool such as Patroni does.
 */
export class StandbyPair {
  readonly primary: OwnPostgres;
  readonly standby: OwnPostgres;
  readonly relay: DatabaseRelay;
  readonly #folder: string;

  private constructor(parts: Pick<StandbyPair, 'primary' | 'standby' | 'relay'>, folder: string) {
    this.primary = parts.primary;
    this.standby = parts.standby;
    this.relay = parts.relay;
    this.#folder = folder;
  }

  static async start({ isSynchronous = true } = {}): Promise<StandbyPair> {
    const folder = await mkdtemp(join(tmpdir(), 'posthorn-pair-'));
    const [one, two] = [join(folder, '1'), join(folder, '2')];
    // Stopped for the copy: the standby begins as the primary's twin.
    await (await OwnPostgres.start(one, {})).stop();
    await mkdir(two, { mode: 0o700 });
    await copyAsStandby(one, two);
    const primary = await OwnPostgres.start(one, { synchronous_standby_names: isSynchronous ? '*' : '' });
    const relay = await startDatabaseRelay(primary.connection);
    const conninfo = `host=127.0.0.1 port=${relay.port} user=posthorn application_name=standby`;
    const standby = await OwnPostgres.start(two, {
      primary_conninfo: conninfo,
      wal_retrieve_retry_interval: '200ms',
    });
    const pair = new StandbyPair({ primary, standby, relay }, folder);
    await pair.#streams(isSynchronous ? 'sync' : 'async');
    return pair;
  }

  /** The first primary is the primary, and the other one its standby, as after a rewind. For an asynchronous pair. */
  async comeBack(): Promise<void> {
    await Promise.all([this.primary.stop(), this.standby.stop()]);
    await rm(join(this.standby.dataDir, 'postgres'), { recursive: true });
    await copyAsStandby(this.primary.dataDir, this.standby.dataDir);
    await Promise.all([this.primary.startAgain(), this.standby.startAgain()]);
    await this.#streams('async');
  }

  async #streams(as: 'sync' | 'async'): Promise<void> {
    await eventually(
      () => this.primary.query<{ sync_state: string }>('select sync_state from pg_stat_replication'),
      [{ sync_state: as }],
    );
  }

  /** Both servers, the first primary first. */
  get url(): string {
    const { host, port, user, database } = this.standby.connection;
    const hosts = `127.0.0.1,${encodeURIComponent(host)}`;
    return `postgres://${user}@/${database}?host=${hosts}&port=${this.relay.port},${port}&target_session_attrs=read-write`;
  }

  async promote(): Promise<void> {
    await this.standby.query('select pg_promote()');
  }

  async stop(): Promise<void> {
    this.relay.close();
    this.primary.thaw();
    await Promise.all([this.primary.stop(), this.standby.stop()]);
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

async function copyAsStandby(from: string, to: string): Promise<void> {
  await run('cp', ['-a', join(from, 'postgres'), join(to, 'postgres')]);
  await writeFile(join(to, 'postgres', 'standby.signal'), '');
}
