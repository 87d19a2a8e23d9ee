/**
 * For tests that find more the longer they run: short in `npm test`, whole in `npm run test:full`, unless `TEST_FORM` says
 * `short` or `whole`. `test:full -- --rest` searches files for this name.
 */
export const WHOLE_FORM = process.env.TEST_FORM === 'whole';
