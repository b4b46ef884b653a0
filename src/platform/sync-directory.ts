import { open } from 'node:fs/promises';

/** Makes a file that was created or renamed in the directory durable under its name. */
export async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
