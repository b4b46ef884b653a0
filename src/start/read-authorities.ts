import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { StartupError } from '../platform/startup-error.ts';

/** The PEM file of a setting. Undefined: it names none. */
export async function readAuthorities(file: string, setting: string): Promise<string | undefined> {
  if (file === '') return undefined;
  try {
    const pem = await readFile(file, 'utf8');
    // Throws if the file has no certificate.
    void new X509Certificate(pem);
    return pem;
  } catch (error) {
    throw new StartupError(`${setting} cannot be read: ${(error as Error).message}`);
  }
}
