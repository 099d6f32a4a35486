import { defineConfig } from 'vitest/config'
import main, { LONG } from './vitest.config.ts'

/** The stories that `npm test` leaves out for their length. */
export default defineConfig({ test: { ...main.test, include: LONG, exclude: [], maxWorkers: 7 } })
