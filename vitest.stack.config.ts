import { defineConfig } from 'vitest/config'

const PAGE = 'test/stack/page-*.test.ts'

const common = {
  pool: 'forks',
  testTimeout: 120_000,
  hookTimeout: 120_000,
  teardownTimeout: 10_000,
} as const

/** The built program among the real programs it lives with: Prometheus, pm2, shells, systemd and Chromium. */
export default defineConfig({
  test: {
    globalSetup: ['test/support/no-survivors.ts'],
    projects: [
      {
        test: {
          ...common,
          name: 'programs',
          include: ['test/stack/**/*.test.ts'],
          exclude: [PAGE],
          // They mostly wait for each other.
          maxWorkers: 3,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...common,
          name: 'page',
          include: [PAGE],
          // How smoothly it scrolls is looked at: nothing runs beside it.
          maxWorkers: 1,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
