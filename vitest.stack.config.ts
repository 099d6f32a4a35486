import { defineConfig } from 'vitest/config'

/** The built program among the real programs it lives with: Prometheus, pm2 and Chromium. One at a time: each takes a machine. */
export default defineConfig({
  test: {
    include: ['test/stack/**/*.test.ts'],
    globalSetup: ['test/support/no-survivors.ts'],
    pool: 'forks',
    maxWorkers: 1,
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    teardownTimeout: 10_000,
  },
})
