/**
 * For tests that are the better the longer they run: short in `npm test`, whole in `npm run test:full`, with `--rest` too,
 * which looks for this name in a file, and with `TEST_FORM=whole`.
 */
export const WHOLE_FORM = process.env.TEST_FORM === 'whole';
