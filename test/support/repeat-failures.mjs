import { jest } from '@jest/globals';

// CI's machines run whole suites beside one another: with TEST_REPEATS=1 a test that has failed runs once more, and the
// reporter names each that passes only then.
jest.retryTimes(Number(process.env.TEST_REPEATS ?? 0));
