import { defineConfig } from 'vitest/config'
import { HANGS_AFTER, LongestFirst } from './vitest.config.ts'

/** How fast the page follows and how smoothly it scrolls is looked at: nothing may run beside it. */
const ALONE = 'test/stack/page-{large,life}.test.ts'

const common = { pool: 'forks', ...HANGS_AFTER } as const

/** The built program among the real programs it lives with: Prometheus, pm2, shells, systemd and Chromium. */
export default defineConfig({
  test: {
    globalSetup: ['test/support/no-survivors.ts'],
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          ...common,
          name: 'programs',
          include: ['test/stack/**/*.test.ts'],
          exclude: [ALONE],
          // They mostly wait for each other.
          maxWorkers: 4,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...common,
          name: 'page',
          include: [ALONE],
          maxWorkers: 1,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
