import type { Json } from '../../support/client.ts';
import { readCredentials } from '../../support/program.ts';
import { ChaosDatabase } from '../chaos-database.ts';
import { ChaosNode } from '../chaos-node.ts';
import { ReceiverProcess } from '../receiver/receiver-process.ts';

/** The home on a server of its own, two cells on servers of theirs, and nodes that serve all three. */
export interface ThreeCells {
  home: ChaosDatabase;
  /** The cells that the project moves between, by their names. */
  cells: Record<CellName, ChaosDatabase>;
  nodes: ChaosNode[];
  receiver: ReceiverProcess;
  /** Lives in cell `a` at first. */
  project: { projectId: string; key: string };
  started(pid: number): void;
  stop(): Promise<void>;
}

export type CellName = 'a' | 'b';

/** The ids that `cells add` gives them. */
export const CELL_IDS: Record<CellName, number> = { a: 2, b: 3 };

export async function startThreeCells(count: number): Promise<ThreeCells> {
  const [home, a, b] = await Promise.all([
    ChaosDatabase.start(),
    ChaosDatabase.start(),
    ChaosDatabase.start(),
  ]);
  const receiver = await ReceiverProcess.start();
  const started = (pid: number) => receiver.started(pid);
  const nodes: ChaosNode[] = [];
  const stop = async () => {
    for (const node of nodes) await node.end();
    await receiver.stop();
    await Promise.all([home, a, b].map((database) => database.stop()));
  };
  try {
    const env = { POSTHORN_CA_FILE: receiver.authorityFile };
    for (let n = 0; n < count; n += 1) nodes.push(await ChaosNode.place(`node-${n}`, home.url, env));
    const [first] = nodes as [ChaosNode];
    // The first start makes the instance. A node of before the cells does not serve them.
    await first.start(started);
    const { instance_key } = readCredentials(first.dataDir);
    await first.program.stop();
    await first.command('cells', 'add', '--name', 'a', '--url', a.url);
    await first.command('cells', 'add', '--name', 'b', '--url', b.url);
    for (const node of nodes) await node.start(started);
    const project = await createProject(first.url, instance_key);
    return { home, cells: { a, b }, nodes, receiver, project, started, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function createProject(url: string, key: string): Promise<ThreeCells['project']> {
  const response = await fetch(`${url}/api/v1/projects`, {
    method: 'POST',
    headers: { authorization: key, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'moving', type: 'outgoing', cell: 'a' }),
  });
  const { data, message } = (await response.json()) as Json;
  if (response.status !== 201) throw new Error(`no project: ${response.status} ${message}`);
  return { projectId: data.project.uid, key: data.api_key.key };
}
