import { CHARACTERS, type Character } from '../characters.ts';
import { ChaosReceiver } from './chaos-receiver.ts';
import type { Asked, Reply } from './receiver-process.ts';
import { TokenServer } from './token-server.ts';

/** The process of the receiver and the token server. Its parent is receiver-process.ts. */
const TELL_MS = 20;
/** Receipts in a message. */
const CHUNK = 5_000;

const tell = (message: Reply): void => {
  process.send?.(message);
};
const tokens = await TokenServer.start();
const receiver = await ChaosReceiver.start(tokens);

/** The deliveries that arrived at each endpoint so far. */
const arrived = new Map<Character, Set<string>>(CHARACTERS.map((name) => [name, new Set()]));
let seen = 0;
function tellArrived(): void {
  const { receipts } = receiver;
  if (seen === receipts.length) return;
  for (; seen < receipts.length; seen++) {
    const { character, deliveryId } = receipts[seen]!;
    arrived.get(character)?.add(deliveryId);
  }
  tell({ arrived: Object.fromEntries([...arrived].map(([name, ids]) => [name, ids.size])) });
}
const timer = setInterval(tellArrived, TELL_MS);

function finish(): void {
  clearInterval(timer);
  const { receipts, slowestLookMs } = receiver;
  for (let n = 0; n < receipts.length; n += CHUNK) tell({ receipts: receipts.slice(n, n + CHUNK) });
  tell({ slowestLookMs, tokenWaits: tokens.waits });
}

async function end(): Promise<void> {
  await receiver.stop();
  await tokens.stop();
  process.exit();
}

process.on('message', (message: Asked) => {
  if ('started' in message) receiver.senders.add(message.started);
  else if ('slowTokensMs' in message) tokens.slowMs = message.slowTokensMs;
  else if ('heal' in message) receiver.heal();
  else finish();
});
process.on('disconnect', () => void end());
tell({
  urls: Object.fromEntries(CHARACTERS.map((name) => [name, receiver.urlOf(name)])),
  tokenUrl: tokens.url,
  authorityFile: receiver.authorityFile,
});
