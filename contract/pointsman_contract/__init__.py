"""What operator, mirror, router and command line may all know: documents, names, labels."""
