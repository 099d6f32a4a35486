import { defineConfig } from 'vitest/config'
import main, { LONG, SIDE_BY_SIDE } from './vitest.config.ts'

/** The stories that `npm test` leaves out for their length. */
export default defineConfig({ test: { ...main.test, ...SIDE_BY_SIDE, include: LONG, exclude: [] } })
