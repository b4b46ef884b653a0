/** A process of its own that resolves a name and says what came of it. */
import { NameResolver } from '../../src/dispatch/address/name-resolver.ts';

const resolver = new NameResolver({ nameServers: [process.argv[2] ?? ''], queryTimeoutMs: 500 });
process.stdout.write(JSON.stringify(await resolver.resolve('paused.example')));
resolver.close();
