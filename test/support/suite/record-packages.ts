import { appendFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

/** Loaded with --import: writes the name of each package that the program loads into the file PACKAGES_FILE. */
const seen = new Set<string>();

registerHooks({
  load: (url, context, next) => {
    const [, name] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ?? [];
    if (name !== undefined && !seen.has(name)) {
      seen.add(name);
      appendFileSync(process.env['PACKAGES_FILE'] ?? '', `${name}\n`);
    }
    return next(url, context);
  },
});
