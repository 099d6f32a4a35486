import { describe } from 'vitest'
import { makeSandboxGaslessRig } from '../../support/gasless/sandbox-gasless-rig.ts'
import { READINGS, sandboxForSuite } from '../../support/sandbox.ts'
import { gaslessContract } from './gasless.ts'

describe.each(READINGS)('a service as %s', (reading) => {
  // Long enough for a quote that is fresh to the suite, short enough for a test to see it expire.
  const sandbox = sandboxForSuite({ reading, quoteLifetimeSeconds: 13 })

  gaslessContract('the live adapter over the sandbox', () => makeSandboxGaslessRig(sandbox()))
})
