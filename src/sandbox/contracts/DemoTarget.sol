// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

/// @notice Target of demo calls. Records who called it, how often and with how much value. Can fail or burn gas.
contract DemoTarget {
    mapping(address caller => uint256 count) public callsOf;
    mapping(address beneficiary => uint256 count) public claimsOf;
    uint256 public totalCalls;
    uint256 public totalValue;

    event Called(address indexed caller, uint256 value, bytes32 memo);
    event Claimed(address indexed caller, address indexed beneficiary);

    error Refused(address caller);

    receive() external payable {
        _count(bytes32(0));
    }

    function record(bytes32 memo) external payable {
        _count(memo);
    }

    function claim(address beneficiary) external {
        claimsOf[beneficiary] += 1;
        emit Claimed(msg.sender, beneficiary);
        _count(bytes32(0));
    }

    function fail() external view {
        revert Refused(msg.sender);
    }

    function failWith(string calldata text) external pure {
        revert(text);
    }

    /// @notice Uses at least the given amount of gas, and counts the call.
    function burn(uint256 gasAmount) external {
        uint256 start = gasleft();
        while (start - gasleft() < gasAmount) {}
        _count(bytes32(0));
    }

    function _count(bytes32 memo) private {
        callsOf[msg.sender] += 1;
        totalCalls += 1;
        totalValue += msg.value;
        emit Called(msg.sender, msg.value, memo);
    }
}
