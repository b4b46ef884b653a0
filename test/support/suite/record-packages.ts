import { appendFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

/**
 * Loaded with --import: writes the name of each package that the program loads into the file PACKAGES_FILE. The
 * fetch of undici, which deliveries do not use, has a name of its own.
 */
const seen = new Set<string>();

registerHooks({
  load: (url, context, next) => {
    const [, name] = /.*\/node_modules\/(undici\/lib\/web\/fetch|(?:@[^/]+\/)?[^/]+)/.exec(url) ?? [];
    if (name !== undefined && !seen.has(name)) {
      seen.add(name);
      appendFileSync(process.env['PACKAGES_FILE'] ?? '', `${name}\n`);
    }
    return next(url, context);
  },
});
