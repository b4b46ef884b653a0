import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { expect, onTestFinished } from 'vitest';
import type { App } from '../../src/start/app.ts';
import { SECRET_KEY, startNode } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { runPosthorn } from '../support/command.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { readCredentials } from '../support/program.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';
import { type Answers, Reader } from './reader.ts';
import { filesOf } from './record.ts';

/** 0.1.0 left the statistics of a project empty. They are filled now. */
const unlessFilled = (name: string, value: unknown) =>
  name === 'statistics' && value === null ? undefined : value;

/** The database of a release, restored by this version, and the answers that the release gave about it. */
export class OldDatabase {
  readonly answers: Answers;
  readonly #env: Record<string, string>;
  readonly #dataDir: string;

  private constructor(database: TestDatabase, dataDir: string, answers: Answers) {
    this.answers = answers;
    this.#dataDir = dataDir;
    this.#env = { DATABASE_URL: database.url, POSTHORN_DATA_DIR: dataDir, POSTHORN_SECRET_KEY: SECRET_KEY };
  }

  static async restore(version: string): Promise<OldDatabase> {
    const { backup, answers } = filesOf(version);
    const database = await createTestDatabase({ empty: true });
    onTestFinished(() => database.stop());
    const dataDir = temporaryFolder();
    const text = gunzipSync(readFileSync(answers)).toString();
    const old = new OldDatabase(database, dataDir, JSON.parse(text, unlessFilled) as Answers);
    const { code, stderr } = await runPosthorn(['restore', backup], { env: old.#env });
    expect([code, stderr]).toEqual([0, '']);
    return old;
  }

  async start(roles: string): Promise<App> {
    const node = await startNode({ ...this.#env, POSTHORN_ROLES: roles });
    onTestFinished(() => node.stop());
    return node;
  }

  get credentials(): Json {
    return readCredentials(this.#dataDir);
  }

  /** Calls with the instance key. */
  instance({ url }: App): ApiClient {
    return new ApiClient(`${url}/api/v1`, this.credentials.instance_key);
  }

  reader({ url }: App): Reader {
    return new Reader(url, this.credentials.instance_key);
  }

  /** The content of all lists of this name, with the path of each one's project. */
  all(name: string): { project: string; item: Json }[] {
    return Object.entries(this.answers).flatMap(([path, answer]) => {
      const [, project = '', list] = /^(\/projects\/\w+)\/([\w-]+)\?perPage=1000$/.exec(path) ?? [];
      return list === name ? answer.content.map((item: Json) => ({ project, item })) : [];
    });
  }
}
