import { makeSandboxGaslessRig } from '../../support/gasless/sandbox-gasless-rig.ts'
import { sandboxForSuite } from '../../support/sandbox.ts'
import { gaslessContract } from './gasless.ts'

// Long enough for a quote that is fresh to the suite, short enough for a test to see it expire.
const sandbox = sandboxForSuite({ quoteLifetimeSeconds: 13 })

gaslessContract('the live adapter over a service as deployed', () =>
  makeSandboxGaslessRig(sandbox()),
)
