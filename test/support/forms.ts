/**
 * For files whose tests are the better the longer they run: short in `npm test`, whole in `npm run test:full`, also with
 * `--rest`, which looks for this name in a file.
 */
export const WHOLE_FORM = process.env.TEST_ADAPTERS !== undefined;
