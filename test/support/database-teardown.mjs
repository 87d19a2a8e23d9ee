/** Jest's global tear-down. Where it is not reached, the server ends with the process. */
export default async function tearDown() {
  if (!globalThis.testDatabaseServer) return;
  await globalThis.testDatabaseServer.stop();
  delete process.env.TEST_DATABASE_URL;
}
