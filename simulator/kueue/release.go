package main

const release = "0.19.2"
