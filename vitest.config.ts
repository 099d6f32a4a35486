import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/{unit,property,contract,scenario,crash,e2e}/**/*.test.ts'],
    globalSetup: ['test/support/no-survivors.ts'],
    pool: 'forks',
    // One more than cores: the longest files mostly wait for chains, clocks and processes.
    maxWorkers: 3,
    testTimeout: 20_000,
    hookTimeout: 20_000,
    teardownTimeout: 10_000,
    coverage: { include: ['src/**/*.ts'], reporter: ['text', 'html'] },
  },
})
