/**
 * For tests that are the better the longer they run: short in `npm test`, whole in `npm run test:full` unless `TEST_FORM` is
 * `short`, and wherever it is `whole`. `test:full -- --rest` looks for this name in a file.
 */
export const WHOLE_FORM = process.env.TEST_FORM === 'whole';
