import { makeSandboxGaslessRig } from '../../support/gasless/sandbox-gasless-rig.ts'
import { sandboxForSuite } from '../../support/sandbox.ts'
import { gaslessContract } from './gasless.ts'

// In a separate file, because waiting for quotes to expire takes as long as all other tests.
const sandbox = sandboxForSuite({ reading: 'described', gasless: { quoteLifetime: 13 } })

gaslessContract('the live adapter over a service as described', () =>
  makeSandboxGaslessRig(sandbox()),
)
