import { makeSimulatedGaslessRig } from '../../support/gasless/simulated-gasless-rig.ts'
import { gaslessContract } from './gasless.ts'

gaslessContract('the simulated service', makeSimulatedGaslessRig)
