import { checkModels } from './models.ts';

/** npm run model -- [name ...] */
const checked = await checkModels(process.argv.slice(2), (line) => console.log(line));
process.exit(checked.length > 0 && checked.every(({ isAsExpected }) => isAsExpected) ? 0 : 1);
