import { defineConfig } from 'vitest/config'
import main, { SIDE_BY_SIDE } from './vitest.config.ts'

/** What `npm test` runs and what it leaves out, in one run: modules are loaded once, and there is one end to wait for. */
export default defineConfig({ test: { ...main.test, ...SIDE_BY_SIDE, exclude: [] } })
